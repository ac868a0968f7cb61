# frozen_string_literal: true

require_relative "."

module Elah
  module Options
    # The option tables of docs/configuration.md, which `bin/docs` writes there.
    module Reference
      module_function

      # @return [String] Markdown: for each group a heading and a table
      def markdown
        GROUPS.map do |group, title|
          rows = Options.all.select { |option| option.group == group }.map { |option| row(option) }
          "### #{title}\n\n| option | default | values | what it does |\n|---|---|---|---|\n#{rows.join}"
        end.join("\n")
      end

      def row(option)
        summary = option.variable ? "#{option.summary} `#{option.variable}` in the environment does the same." : option.summary
        "| `#{option.name}` | #{option.default_text || 'none'} | #{values(option)} | #{summary.gsub('|', '\|')} |\n"
      end

      def values(option)
        return option.values.map { |value| "`#{value}`" }.join(", ") if option.values

        return "#{option.range_text}, `auto`" if option.type == :workers

        { boolean: "`true`, `false`", listeners: "`tcp://HOST:PORT`, `unix:///PATH`", path: "a path", string: "a text",
          port_range: "`HOST:FIRST-LAST`", postgres_url: "a URL as on the right", tls_files: "`certificate=PATH,key=PATH,authority=PATH`" }
          .fetch(option.type) { "#{option.range_text} #{option.unit}".rstrip }
      end
    end
  end
end
