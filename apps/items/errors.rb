# frozen_string_literal: true

# The errors of requests, other than those of their form.
module Items
  # There is nothing to draw from: 404.
  class NoItems < StandardError
    # @param tag [String] "" for all items
    def initialize(tag) = super(tag.empty? ? "There are no items." : "There are no items with the tag #{tag}.")
  end

  # Another item has the UUID: 409.
  class Duplicate < StandardError
    # @param uuid [String]
    def initialize(uuid) = super("There is an item with the uuid #{uuid} already.")
  end
end
