# frozen_string_literal: true

require "digest/sha1"
require "securerandom"

module Items
  # An item before it is stored. A store assigns its ID and keeps its document, which clients get, byte for byte, from every
  # store.
  #
  # uuid, name, description: String · created_at: String, ISO 8601 in UTC with milliseconds · tags: Array<String>, without
  # repetitions
  Item = Struct.new(:uuid, :name, :description, :created_at, :tags, keyword_init: true) do
    self::UUID = /\A\h{8}(-\h{4}){3}-\h{12}\z/.freeze

    # @param name [String]
    # @param description [String]
    # @param tags [Array<String>]
    # @param now [Time]
    # @return [Item] with a random uuid
    def self.create(name:, description: "", tags: [], now: Time.now)
      new(uuid: SecureRandom.uuid, name: name, description: description, created_at: now.utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ"), tags: tags.uniq)
    end

    # @param document [String] of an item
    # @return [String]
    def self.uuid_of(document) = document.byteslice(document.index('"uuid":"') + 8, 36)

    # @param id [Integer]
    # @return [String] JSON
    def document(id)
      Elah::JSON.generate({ id: id, uuid: uuid, name: name, hash_code: hash_code, created_at: created_at, description: description, tags: tags })
    end

    # @return [String] SHA-1 of name, uuid and time, in hexadecimal
    def hash_code = Digest::SHA1.hexdigest("#{name}-#{uuid}-#{created_at}")
  end
end
