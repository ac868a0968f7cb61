# frozen_string_literal: true

# Links on ActiveRecord and SQLite, as a Ruby application would keep them in its own process: what the contenders rails, grape, sinatra and
# em_synchrony have in common. The rules are those of specs/links.md that the lab measures; each contender adds its routes.
require "active_record"
require "json"
require "securerandom"
require "time"
require_relative "sqlite"

module Links
  # A request that the contract refuses.
  class Problem < StandardError
    attr_reader :status, :code

    def initialize(status, code)
      super(code.tr("_", " "))
      @status = status
      @code = code
    end

    def to_h = { type: "about:blank", title: message, status: status, detail: message, code: code }
  end

  # One row of the table.
  class Link < ActiveRecord::Base
    self.primary_key = :code
  end

  module_function

  CODE_CHARACTERS = [*"1".."9", *"A".."H", *"J".."N", *"P".."Z", *"a".."k", *"m".."z"].freeze
  STATUSES = [301, 302, 307, 308].freeze
  PERMANENT = [301, 308].freeze
  FIELDS = %w[target status max_visits not_before expires_at title tags].freeze
  REDIRECT_HEADERS = { "Referrer-Policy" => "strict-origin-when-cross-origin", "X-Robots-Tag" => "noindex" }.freeze
  # One statement for the look-up and the count, which is more than most would write.
  VISIT = <<~SQL
    UPDATE links SET visits = visits + 1
    WHERE code = ? AND (max_visits IS NULL OR visits < max_visits) AND (not_before IS NULL OR not_before <= ?) AND (expires_at IS NULL OR expires_at > ?)
    RETURNING target, status, max_visits
  SQL

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
    SQLite.open(File.expand_path("links.sqlite3", folder), threads)
    ActiveRecord::Schema.verbose = false
    ActiveRecord::Schema.define do
      create_table(:links, id: false) do |table|
        table.string :code, primary_key: true
        table.string :target, null: false
        table.integer :status, null: false
        table.integer :visits, null: false, default: 0
        table.integer :max_visits
        table.string :not_before
        table.string :expires_at
        table.string :title
        table.text :tags, null: false, default: "[]"
        table.string :created_at, null: false
        table.string :updated_at, null: false
      end
    end
  end

  # @return [Hash] the new link
  def create(fields, past: false)
    row = checked(fields, past: past)
    row["code"] = fields["code"] || Array.new(6) { CODE_CHARACTERS.sample(random: SecureRandom) }.join
    row["visits"] = fields["visits"].to_i if past
    row["created_at"] = past && fields["created_at"] ? timestamp(fields["created_at"]) : timestamp(Time.now.utc)
    row["updated_at"] = row["created_at"]
    Link.insert!(row)
    present(Link.new(row))
  rescue ActiveRecord::RecordNotUnique
    raise Problem.new(409, "code_taken")
  end

  # @return [Array] status, target and Cache-Control of the redirect, which counts
  def visit(code)
    now = timestamp(Time.now.utc)
    row = SQLite.rows(VISIT, code, now, now).first or raise refusal(code)
    [row["status"], row["target"], cache_control(row)]
  end

  # The same for HEAD, which does not count.
  def look(code)
    link = Link.find_by(code: code) or raise Problem.new(404, "link_not_found")
    raise refusal(code) if used_up?(link)

    [link.status, link.target, cache_control(link)]
  end

  def find(code) = present(found(code))

  def change(code, fields)
    link = found(code)
    row = checked(link.attributes.slice(*FIELDS).merge("tags" => JSON.parse(link.tags)).merge(fields))
    link.update!(row.merge("updated_at" => timestamp(Time.now.utc)))
    present(link)
  end

  def delete(code) = Link.where(code: code).delete_all.positive? || raise(Problem.new(404, "link_not_found"))

  # @param text [String] a JSON object per line
  # @return [String] a result per line, and a summary
  def import(text, base)
    results = Link.transaction do
      text.each_line.with_index(1).filter_map { |line, number| import_line(line, number, base) unless line.strip.empty? }
    end
    created = results.count { |result| result[:status] == 201 }
    summary = { lines: results.size, created: created, found: 0, failed: results.size - created }
    [*results, { summary: summary }].map { |result| "#{JSON.generate(result)}\n" }.join
  end

  def import_line(line, number, base)
    fields = JSON.parse(line)
    raise Problem.new(422, "invalid_line") unless fields.is_a?(Hash)

    code = create(fields, past: true).fetch(:code)
    { line: number, status: 201, code: code, short_url: "#{base}/#{code}" }
  rescue JSON::ParserError
    { line: number, status: 422, error: { code: "invalid_line", detail: "no JSON" } }
  rescue Problem => e
    { line: number, status: e.status, error: { code: e.code, detail: e.message } }
  end

  def checked(fields, past: false)
    row = fields.slice(*FIELDS)
    check_target(row["target"])
    row["status"] ||= 302
    raise Problem.new(422, "invalid_status") unless STATUSES.include?(row["status"])

    %w[not_before expires_at].each { |name| row[name] = timestamp(row[name]) if row[name] }
    raise Problem.new(422, "invalid_expiry") if row["expires_at"] && !past && row["expires_at"] <= timestamp(Time.now.utc)

    row.merge("tags" => JSON.generate(row["tags"] || []))
  end

  def check_target(target)
    raise Problem.new(400, "validation_failed") unless target.is_a?(String)
    raise Problem.new(422, "scheme_refused") if target.match?(/\A[a-z][a-z0-9+.-]*:/i) && !target.match?(/\Ahttps?:/i)
    raise Problem.new(422, "invalid_target") unless target.match?(%r{\Ahttps?://[\w.-]+(:\d{1,5})?([/?#][!-~]*)?\z}i)
  end

  def timestamp(time)
    (time.is_a?(Time) ? time : Time.iso8601(time)).utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ")
  rescue ArgumentError
    raise Problem.new(422, "invalid_time")
  end

  def found(code) = Link.find_by(code: code) || raise(Problem.new(404, "link_not_found"))
  def used_up?(link) = link.max_visits && link.visits >= link.max_visits

  def refusal(code)
    link = Link.find_by(code: code) or return Problem.new(404, "link_not_found")
    return Problem.new(410, "link_used_up") if used_up?(link)

    link.not_before && link.not_before > timestamp(Time.now.utc) ? Problem.new(404, "link_not_active") : Problem.new(410, "link_expired")
  end

  def cache_control(row)
    return "no-store" if row["max_visits"]

    PERMANENT.include?(row["status"]) ? "public, max-age=86400" : "private, max-age=0"
  end

  def present(link)
    link.attributes.symbolize_keys.merge(tags: JSON.parse(link.tags))
  end
end
