# frozen_string_literal: true

require_relative "link"

module Links
  # Owns the bytes in which a link is stored. They are laid out for the visit, which needs the status and the target of a
  # link without limits and reads nothing else:
  #
  #   0      kind: position of the status in Link::STATUSES, and LIMITED when the link has any limit
  #   1-2    bytes of the target
  #   3-42   not_before, expires_at, max_visits (0: none), created_at, updated_at: 8 bytes each
  #   43-    the target, then the title and the tags as lines
  module Record
    LIMITED = 4
    TARGET_AT = 43
    LAYOUT = "CnQ>5"

    class << self
      # @param link [Link]
      # @return [String] binary
      def encode(link)
        kind = Link::STATUSES.index(link.status) | (link.limited? ? LIMITED : 0)
        numbers = [link.not_before, link.expires_at, link.max_visits, link.created_at, link.updated_at].map(&:to_i)
        [kind, link.target.bytesize, *numbers].pack(LAYOUT) << link.target.b << [link.title, *link.tags].join("\n").b
      end

      # @param code [String]
      # @param bytes [String] from {encode}
      # @return [Link]
      def decode(code, bytes)
        kind, target_bytes, *numbers = bytes.unpack(LAYOUT)
        title, *tags = bytes.byteslice((TARGET_AT + target_bytes)..).force_encoding(Encoding::UTF_8).split("\n")
        not_before, expires_at, max_visits = numbers.first(3).map { |number| number unless number.zero? }
        Link.new(code: code, target: target(bytes).force_encoding(Encoding::UTF_8), status: Link::STATUSES[kind & ~LIMITED],
                 not_before: not_before, expires_at: expires_at, max_visits: max_visits, created_at: numbers[3],
                 updated_at: numbers[4], title: title.nil? || title.empty? ? nil : title, tags: tags)
      end

      # @param bytes [String] from {encode}
      # @return [Boolean]
      def limited?(bytes) = bytes.getbyte(0) >= LIMITED

      # @param bytes [String] from {encode}
      # @return [String] binary
      def target(bytes) = bytes.byteslice(TARGET_AT, (bytes.getbyte(1) << 8) | bytes.getbyte(2))
    end
  end
end
