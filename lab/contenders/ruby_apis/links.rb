# frozen_string_literal: true

# Links with the rules of specs/links.md that the lab measures, in a table or in Redis: what the contenders rails, grape, sinatra and em_synchrony
# have in common; each adds its routes.
require "json"
require "securerandom"
require "time"
require_relative "problem"

module Links
  module_function

  CODE_CHARACTERS = [*"1".."9", *"A".."H", *"J".."N", *"P".."Z", *"a".."k", *"m".."z"].freeze
  STATUSES = [301, 302, 307, 308].freeze
  PERMANENT = [301, 308].freeze
  FIELDS = %w[target status max_visits not_before expires_at title tags].freeze
  ABSENT = { "max_visits" => nil, "not_before" => nil, "expires_at" => nil, "title" => nil }.freeze
  REDIRECT_HEADERS = { "Referrer-Policy" => "strict-origin-when-cross-origin", "X-Robots-Tag" => "noindex" }.freeze

  # A link is a Hash with texts for names; its tags are JSON.
  class << self
    # @return [Rows, Hashes]
    attr_reader :store
  end

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
    if ENV.fetch("STORE", "").start_with?("redis:")
      require_relative "links/hashes"
      @store = Hashes.new(ENV.fetch("STORE"))
    else
      require_relative "links/rows"
      @store = Rows.new(folder, threads)
    end
  end

  # @return [Hash] the new link
  def create(fields, past: false)
    row = checked(fields, past: past)
    row["code"] = fields["code"] || Array.new(6) { CODE_CHARACTERS.sample(random: SecureRandom) }.join
    row["visits"] = past ? fields["visits"].to_i : 0
    row["created_at"] = past && fields["created_at"] ? timestamp(fields["created_at"]) : timestamp(Time.now.utc)
    row["updated_at"] = row["created_at"]
    store.insert(row) or raise Problem.new(409, "code_taken")

    present(row)
  end

  # @return [Array] status, target and Cache-Control of the redirect, which counts
  def visit(code)
    link = store.visit(code, timestamp(Time.now.utc)) or raise refusal(code)
    [link["status"], link["target"], cache_control(link)]
  end

  # The same for HEAD, which does not count.
  def look(code)
    link = found(code)
    raise refusal(code) if used_up?(link)

    [link["status"], link["target"], cache_control(link)]
  end

  def find(code) = present(found(code))

  def change(code, fields)
    link = found(code)
    row = checked(link.slice(*FIELDS).merge("tags" => JSON.parse(link["tags"])).merge(fields)).merge("updated_at" => timestamp(Time.now.utc))
    store.update(code, row)
    present(link.merge(row))
  end

  def delete(code) = store.delete(code) || raise(Problem.new(404, "link_not_found"))

  # @param text [String] a JSON object per line
  # @return [String] a result per line, and a summary
  def import(text, base)
    results = store.together do
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

  def found(code) = store.find(code) || raise(Problem.new(404, "link_not_found"))
  def used_up?(link) = link["max_visits"] && link["visits"] >= link["max_visits"]

  def refusal(code)
    link = store.find(code) or return Problem.new(404, "link_not_found")
    return Problem.new(410, "link_used_up") if used_up?(link)

    link["not_before"] && link["not_before"] > timestamp(Time.now.utc) ? Problem.new(404, "link_not_active") : Problem.new(410, "link_expired")
  end

  def cache_control(row)
    return "no-store" if row["max_visits"]

    PERMANENT.include?(row["status"]) ? "public, max-age=86400" : "private, max-age=0"
  end

  def present(link) = ABSENT.merge(link).transform_keys(&:to_sym).merge(tags: JSON.parse(link["tags"]))
end
