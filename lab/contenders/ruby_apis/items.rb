# frozen_string_literal: true

# Items, drawn as specs/items.md asks, in tables or behind MongoDB's protocol: each has one position among all and among those of each of its tags,
# without holes, so that a draw is one number and one look-up. What rails, grape, sinatra and em_synchrony have in common; each adds its routes.
require "digest"
require "json"
require "securerandom"
require_relative "problem"

module Items
  module_function

  # The scope of all items; any other is a tag.
  ALL = ""
  # How many items a scope had when it was last looked at. A draw out of another number is not fair, and is made again.
  TOTALS = Hash.new(1)

  class << self
    # @return [Rows, Documents]
    attr_reader :store
  end

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
    if ENV.fetch("STORE", "").start_with?("mongodb:")
      require_relative "items/documents"
      @store = Documents.new(ENV.fetch("STORE"), threads)
    else
      require_relative "items/rows"
      @store = Rows.new(folder, threads)
    end
  end

  # @return [String] the document
  def random(tag)
    scope = tag || ALL
    loop do
      known = TOTALS[scope]
      total, document = store.look(scope, rand(known))
      raise Problem.new(404, "no_items") if total.zero?

      TOTALS[scope] = total
      return document if document && total == known
    end
  end

  # @return [Array<String>] documents of different items
  def sample(tag, count)
    scope = tag || ALL
    total = store.look(scope, 0).first
    raise Problem.new(404, "no_items") if total.zero?

    positions = Set.new
    positions << rand(total) until positions.size == [count, total].min
    positions.map { |position| store.look(scope, position).last }
  end

  # @return [String] the document
  def find(uuid) = store.find(uuid) || raise(Problem.new(404, "item_not_found"))

  # @return [Array<String>] uuid and document
  def create(fields)
    raise Problem.new(400, "validation_failed") unless fields["name"].is_a?(String) && !fields["name"].empty?

    uuid = SecureRandom.uuid
    tags = (fields["tags"] || []).uniq
    [uuid, store.insert(uuid, [ALL, *tags]) { |id| JSON.generate(document(id, uuid, fields, tags)) }]
  end

  def delete(uuid) = store.delete(uuid) || raise(Problem.new(404, "item_not_found"))

  def document(id, uuid, fields, tags)
    created_at = Time.now.utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ")
    { id: id, uuid: uuid, name: fields["name"], hash_code: Digest::SHA1.hexdigest("#{fields['name']}-#{uuid}-#{created_at}"), created_at: created_at,
      description: fields["description"] || "", tags: tags }
  end
end
