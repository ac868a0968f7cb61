# frozen_string_literal: true

# The routes of specs/links.md in Sinatra, for the contenders sinatra and em_synchrony.
require_relative "api"
require_relative "../ruby_apis/links"

class LinksApp < API
  post("/links/import") do
    content_type "application/x-ndjson"
    Links.import(request.body.read, request.base_url)
  end

  post("/links") do
    link = Links.create(document)
    headers "Location" => "#{request.base_url}/links/#{link[:code]}"
    answer(with_url(link), 201)
  end

  get("/links/:code") { |code| answer(with_url(Links.find(code))) }
  patch("/links/:code") { |code| answer(with_url(Links.change(code, document))) }

  delete("/links/:code") do |code|
    Links.delete(code)
    status 204
  end

  get("/:code") { |code| send_away(*(request.head? ? Links.look(code) : Links.visit(code))) }

  private

  def with_url(link) = link.merge(short_url: "#{request.base_url}/#{link[:code]}")

  def send_away(code, target, cache_control)
    status code
    headers Links::REDIRECT_HEADERS.merge("Location" => target, "Cache-Control" => cache_control)
    nil
  end
end
