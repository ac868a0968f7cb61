# frozen_string_literal: true

require_relative "app_server"

# Owns a real shortener of a test: apps/links.
class LinksServer < AppServer
  APP = File.expand_path("../../apps/links/app.rb", __dir__)

  # @return [String]
  def url = @process.url

  # @return [Hash] the link that was created
  # @raise [RuntimeError] when it was refused
  def create(target: "https://example.com/", **fields)
    answer = post("/links", { target: target, **fields })
    answer.status == 201 ? answer.json : raise("#{answer.status} #{answer.body}")
  end

  # @param lines [Array<String, Hash>]
  # @return [Array<Hash>] the results and the summary
  def import(lines, **rest)
    body = lines.map { |line| "#{line.is_a?(Hash) ? JSON.generate(line) : line}\n" }.join
    post("/links/import", body, headers: { "Content-Type" => "application/x-ndjson" },
                                **rest).body.each_line.map { |line| JSON.parse(line) }
  end

  # @return [Integer]
  def visits(code) = get("/links/#{code}").json.fetch("visits")
end
