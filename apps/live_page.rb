# frozen_string_literal: true

# The live pages of the apps: each is a folder with page.html, page.css and page.js, which load nothing from elsewhere.
module LivePage
  # The browser runs and shows only content from this origin, and no other page may frame it.
  POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  HEADERS = { "content-security-policy" => POLICY, "x-content-type-options" => "nosniff", "referrer-policy" => "no-referrer",
              "cache-control" => "no-cache" }.freeze
  TYPES = { "page.html" => "text/html; charset=utf-8", "page.css" => "text/css; charset=utf-8",
            "page.js" => "text/javascript; charset=utf-8" }.freeze

  # @param folder [String]
  # @return [Hash{String=>Array(Elah::HeaderSet, String)}] the headers and the content of each file
  def self.read(folder)
    TYPES.to_h do |name, type|
      [name, [Elah::HeaderSet.new({ **HEADERS, "content-type" => type }), File.read(File.join(folder, name), encoding: Encoding::UTF_8).freeze]]
    end
  end
end
