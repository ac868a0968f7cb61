# frozen_string_literal: true

# The routes of specs/links.md in Rails.
require_relative "api_controller"
require_relative "../ruby_apis/links"

LabApplication.routes.append do
  post "/links/import", to: "links#import"
  post "/links", to: "links#create"
  get "/links/:code", to: "links#show", constraints: { code: /[^\/]+/ }
  patch "/links/:code", to: "links#update", constraints: { code: /[^\/]+/ }
  delete "/links/:code", to: "links#destroy", constraints: { code: /[^\/]+/ }
  get "/:code", to: "links#visit", constraints: { code: /[^\/]+/ }
end

# Rails writes the directives of Cache-Control in an order of its own; the contract is one of bytes.
class CacheControl
  KEY = "lab.cache_control"

  def initialize(app)
    @app = app
  end

  def call(env)
    @app.call(env).tap { |_, headers, _| env[KEY] && headers["Cache-Control"] = env[KEY] }
  end
end

class LinksController < APIController
  def import = render(plain: Links.import(request.raw_post, request.base_url), content_type: "application/x-ndjson")

  def create
    link = Links.create(document)
    render(json: with_url(link), status: :created, location: "#{request.base_url}/links/#{link[:code]}")
  end

  def show = render(json: with_url(Links.find(params[:code])))
  def update = render(json: with_url(Links.change(params[:code], document)))

  def destroy
    Links.delete(params[:code])
    head(:no_content)
  end

  def visit
    status, target, cache_control = request.head? ? Links.look(params[:code]) : Links.visit(params[:code])
    Links::REDIRECT_HEADERS.each { |name, value| response.set_header(name, value) }
    request.set_header(CacheControl::KEY, cache_control)
    head(status, location: target)
  end

  private

  def with_url(link) = link.merge(short_url: "#{request.base_url}/#{link[:code]}")
end

LabApplication.initialize!
Links.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))

use CacheControl
run LabApplication
