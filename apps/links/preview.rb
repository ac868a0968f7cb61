# frozen_string_literal: true

require_relative "../web_page"

module Links
  # The preview of a link: a page that shows the target, or the same as JSON. It never redirects and loads nothing.
  class Preview
    PRIVACY = { "cache-control" => "private, max-age=0", "vary" => "accept", "x-robots-tag" => "noindex" }.freeze
    JSON = { **PRIVACY, "content-type" => "application/json", "referrer-policy" => "no-referrer", "x-content-type-options" => "nosniff" }.freeze
    CONTENT = <<~HTML
      <p><a href="%<short_url>s">%<short_url>s</a> leads to</p>
      <p><a href="%<target>s" rel="noopener noreferrer nofollow">%<target>s</a></p>
    HTML

    # @param link [Link]
    # @param presenter [Presenter]
    def initialize(link, presenter)
      @link = link
      @short_url = presenter.short_url(link.code)
    end

    # @param request [Elah::Request]
    def send_to(request)
      return request.respond(200, JSON, Elah::JSON.generate(document)) if json?(request.header("accept"))

      request.respond(200, { **WebPage.headers, **PRIVACY }, page)
    end

    private

    def json?(accept) = !accept.nil? && accept.include?("application/json")

    def document = { code: @link.code, short_url: @short_url, target: @link.target, title: @link.title }

    def page
      shown = { short_url: @short_url, target: @link.target }
      WebPage.html(@link.title || @short_url, format(CONTENT, shown.transform_values { |text| WebPage.escape(text) }).chomp)
    end
  end
end
