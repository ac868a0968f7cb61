# frozen_string_literal: true

# The routes of specs/links.md in Grape.
require_relative "api"
require_relative "../ruby_apis/links"

class LinksApp < Grape::API
  include API
  content_type :json, "application/json"
  content_type :ndjson, "application/x-ndjson"
  content_type :txt, "text/plain"
  formatter :ndjson, ->(text, _env) { text }
  formatter :txt, ->(text, _env) { text }
  parser :ndjson, ->(text, _env) { { "lines" => text } }
  default_format :json

  helpers do
    def base = request.base_url
    def with_url(link) = link.merge(short_url: "#{base}/#{link[:code]}")

    def send_away(code, target, cache_control)
      status code
      Links::REDIRECT_HEADERS.each { |name, value| header(name, value) }
      header "Location", target
      header "Cache-Control", cache_control
      env["api.format"] = :txt
      ""
    end
  end

  post "links/import" do
    status 200
    env["api.format"] = :ndjson
    Links.import(document.fetch("lines"), base)
  end

  post "links" do
    link = Links.create(document)
    header "Location", "#{base}/links/#{link[:code]}"
    with_url(link)
  end

  get("links/:code", requirements: { code: %r{[^/]+} }) { with_url(Links.find(params[:code])) }
  patch("links/:code", requirements: { code: %r{[^/]+} }) { with_url(Links.change(params[:code], document)) }

  delete("links/:code", requirements: { code: %r{[^/]+} }) do
    Links.delete(params[:code])
    status 204
    body false
  end

  head(":code", requirements: { code: %r{[^/]+} }) { send_away(*Links.look(params[:code])) }
  get(":code", requirements: { code: %r{[^/]+} }) { send_away(*Links.visit(params[:code])) }
end

Links.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run LinksApp
