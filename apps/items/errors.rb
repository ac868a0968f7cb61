# frozen_string_literal: true

# Owns what can be wrong with what a client asks of the items, apart from the form of the request.
module Items
  # There is nothing to draw from: 404.
  class NoItems < StandardError
    # @param tag [String] "" for all items
    def initialize(tag) = super(tag.empty? ? "There are no items." : "There are no items with the tag #{tag}.")
  end

  # A uuid belongs to another item: 409.
  class Duplicate < StandardError
    # @param uuid [String]
    def initialize(uuid) = super("There is an item with the uuid #{uuid} already.")
  end
end
