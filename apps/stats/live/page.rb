# frozen_string_literal: true

module Stats
  module Live
    # The files of the live page, read once. They load nothing from elsewhere.
    module Page
      # The browser runs and shows only content from here, and frames it nowhere.
      POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
      COMMON = { "content-security-policy" => POLICY, "x-content-type-options" => "nosniff", "referrer-policy" => "no-referrer",
                 "cache-control" => "no-cache" }.freeze
      TYPES = { ".html" => "text/html; charset=utf-8", ".css" => "text/css; charset=utf-8", ".js" => "text/javascript; charset=utf-8" }.freeze
      BASIC = /\ABasic +([A-Za-z0-9+\/=]+)\s*\z/i.freeze

      # A file of the page.
      Asset = Struct.new(:name, :headers, :text)

      # @param name [String]
      # @return [Asset]
      def self.read(name)
        headers = Elah::HeaderSet.new(COMMON.merge("content-type" => TYPES.fetch(File.extname(name))))
        Asset.new(name, headers, File.read(File.join(__dir__, name), encoding: Encoding::UTF_8).freeze)
      end
      private_class_method :read

      # By their paths relative to the page.
      FILES = { "" => read("page.html"), "page.css" => read("page.css"), "page.js" => read("page.js") }.freeze

      # @param request [Elah::Request]
      # @return [String, nil] the password of HTTP Basic
      def self.password(request)
        request.header("authorization")&.[](BASIC, 1)&.unpack1("m")&.split(":", 2)&.last
      end
    end
  end
end
