# frozen_string_literal: true

# The small pages of the apps: whether a client prefers one, and its layout. A page is complete in itself and loads nothing.
module WebPage
  STYLE = <<~CSS.freeze
    :root { --back: #f6f6f3; --card: #fff; --text: #1d2127; --quiet: #5c6470; --edge: #e0e0da; --link: #14549c; color-scheme: light dark; }
    @media (prefers-color-scheme: dark) {
      :root { --back: #14171b; --card: #1c2026; --text: #e6e8eb; --quiet: #9aa3ae; --edge: #2c323a; --link: #8ab8f5; }
    }
    * { box-sizing: border-box; }
    body { margin: 0; padding: 1rem; min-height: 100vh; display: grid; place-items: center; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
    main { width: 100%; max-width: 34rem; padding: 1.5rem; background: var(--card); border: 1px solid var(--edge); border-radius: .6rem; overflow-wrap: anywhere; }
    h1 { margin: 0 0 .5rem; font-size: 1.35rem; line-height: 1.25; }
    p { margin: .5rem 0 0; }
    a { color: var(--link); }
    .quiet { color: var(--quiet); font-size: .9rem; }
  CSS

  LAYOUT = <<~HTML
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>%<title>s</title>
    <link rel="icon" href="data:,">
    <style>%<style>s</style>
    </head>
    <body>
    <main>
    <h1>%<title>s</h1>
    %<content>s
    </main>
    </body>
    </html>
  HTML

  QUALITY = /\Aq=([\d.]+)\z/i.freeze
  private_constant :QUALITY

  class << self
    # @return [Hash{String=>String}] headers of a page
    def headers
      @headers ||= begin
        require "digest/sha2" # most processes send no page
        policy = "default-src 'none'; style-src 'sha256-#{Digest::SHA256.base64digest(STYLE)}'; img-src data:; base-uri 'none'; form-action 'none'"
        { "content-type" => "text/html; charset=utf-8", "content-security-policy" => policy, "referrer-policy" => "no-referrer", "vary" => "accept",
          "x-content-type-options" => "nosniff" }.freeze
      end
    end

    # @param accept [String, nil] the header
    # @return [Boolean] whether HTML is preferred to JSON, as by browsers; a client that accepts anything gets JSON
    def wanted?(accept)
      return false unless accept&.include?("text/html")

      html, *json = ["text/html", "application/json", "application/problem+json"].map { |type| quality(accept, type) }
      html.positive? && html > json.max
    end

    # @param title [String]
    # @param content [String] HTML
    # @return [String] a document
    def html(title, content) = format(LAYOUT, title: escape(title), style: STYLE, content: content)

    # @param title [String]
    # @param sentence [String] the error
    # @param status [Integer]
    # @return [String] a document
    def error(title, sentence, status) = html(title, %(<p>#{escape(sentence)}</p>\n<p class="quiet">Status #{status}</p>))

    # @param text [String]
    # @return [String] HTML
    def escape(text)
      require "cgi/escape" # most processes send no page
      CGI.escapeHTML(text)
    end

    private

    # The highest q of a type, 0 where the header does not name it.
    def quality(accept, type)
      accept.split(",").filter_map do |range|
        name, *parameters = range.split(";").map(&:strip)
        next unless name&.casecmp?(type)

        parameters.filter_map { |parameter| parameter[QUALITY, 1] }.first&.to_f || 1.0
      end.max || 0.0
    end
  end
end
