# frozen_string_literal: true

require "cgi/escape"

module Lab
  class Report
    # Writes elements of SVG.
    module SVG
      # A narrow screen scrolls a picture rather than shrinking its words.
      LEAST_WIDTH = 560

      module_function

      # @param name [String]
      # @param attributes [Hash{Symbol=>Object}] underscores become dashes; numbers are cut to a tenth
      # @return [String]
      def element(name, content = nil, **attributes)
        words = attributes.compact.map { |key, value| %( #{key.to_s.tr('_', '-')}="#{escape(value.is_a?(Float) ? value.round(1) : value)}") }.join
        content ? "<#{name}#{words}>#{content}</#{name}>" : "<#{name}#{words}/>"
      end

      # @return [String] text at a place
      def text(string, **attributes) = element("text", escape(string), **attributes)

      # @return [String] a picture that scales, with a name for those who hear it
      def picture(width, height, label, *parts)
        element("svg", parts.join, viewBox: "0 0 #{width} #{height}", role: "img", aria_label: label, style: "min-width:#{LEAST_WIDTH}px")
      end

      def escape(value) = CGI.escapeHTML(value.to_s)
    end
  end
end
