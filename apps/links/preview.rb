# frozen_string_literal: true

module Links
  # Owns the preview of a link: a page that names the target, or the same as JSON. It never redirects and loads nothing.
  class Preview
    HEADERS = {
      "cache-control" => "private, max-age=0", "content-security-policy" => "default-src 'none'; base-uri 'none'; form-action 'none'",
      "referrer-policy" => "no-referrer", "vary" => "accept", "x-content-type-options" => "nosniff", "x-robots-tag" => "noindex"
    }.freeze
    JSON = { **HEADERS, "content-type" => "application/json" }.freeze
    HTML = { **HEADERS, "content-type" => "text/html; charset=utf-8" }.freeze
    PAGE = <<~HTML
      <!doctype html>
      <html lang="en">
      <head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%<title>s</title></head>
      <body>
      <h1>%<title>s</h1>
      <p><a href="%<short_url>s">%<short_url>s</a> leads to</p>
      <p><a href="%<target>s" rel="noopener noreferrer nofollow">%<target>s</a></p>
      </body>
      </html>
    HTML

    # @param link [Link]
    # @param presenter [Presenter]
    def initialize(link, presenter)
      @link = link
      @short_url = presenter.short_url(link.code)
    end

    # @param request [Elah::Request]
    def answer(request)
      return request.respond(200, JSON, Elah::JSON.generate(document)) if json?(request.header("accept"))

      request.respond(200, HTML, page)
    end

    private

    def json?(accept) = !accept.nil? && accept.include?("application/json")

    def document = { code: @link.code, short_url: @short_url, target: @link.target, title: @link.title }

    def page
      require "cgi/escape" # few redirects are previewed
      shown = { title: @link.title || @short_url, short_url: @short_url, target: @link.target }
      format(PAGE, shown.transform_values { |text| CGI.escapeHTML(text) })
    end
  end
end
