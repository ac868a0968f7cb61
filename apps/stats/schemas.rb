# frozen_string_literal: true

require_relative "schema"

module Stats
  # The schemas by the names of events. Workers share them through the store; a change applies to the next event that any worker
  # checks.
  class Schemas
    NAME = /\A[[:print:]]{1,100}\z/
    # The beginning of every fault.
    FAULT = "schema "
    # The most schemas.
    MAX = 500

    # @param reasons [Hash{String=>String}] why events were rejected
    # @return [String, nil] the first that a sender may read: a fault, not the words of a destination, which may name servers and statements
    def self.shown(reasons) = reasons.each_value.find { |reason| reason.start_with?(FAULT) }

    # @param store [Elah::Store]
    def initialize(store)
      @store = store
      @table = store.table("schemas")
      @read = {}
    end

    # @param events [Array<EventFields>]
    # @return [Hash{String=>String}] the faults of those that do not match their schema, by their IDs
    def faults(events)
      named = events.select(&:name)
      names = named.map(&:name).uniq
      texts = @store.values_at(*names.flat_map { |name| [@table, key(name)] })
      schemas = names.zip(texts).to_h { |name, text| [name, text && read(name, text)] }
      named.to_h { |event| [event.id, fault(schemas[event.name], event.name) { event.params }] }.compact
    end

    # @param name [String] of an event
    # @yieldreturn [Hash{String=>Object}] its parameters, requested if there is a schema
    # @return [String, nil] the fault; nil if there is none, or no schema
    def reason(name, &params) = fault(self[name], name, &params)

    # @param name [String]
    # @return [Schema, nil]
    def [](name)
      text = @table.get(key(name))
      text && read(name, text)
    end

    # @return [Array<Array(String, Schema)>] by name
    def all = @table.range(limit: MAX).map { |_, text| Schema.load(text).then { |schema| [schema.name, schema] } }

    # @param name [String]
    # @param definition [Hash{String=>Object}]
    # @return [Schema]
    # @raise [Refused] if the definition is invalid
    def put(name, definition)
      raise Refused.new("invalid_name", "A name must have 1 to 100 characters.") unless NAME.match?(name)

      schemas = @table.size # another connection of a cluster
      @store.transaction do |tx|
        before = tx.get(@table, key(name))&.then { |text| Schema.load(text) }
        raise Refused.new("too_many_schemas", "There are #{MAX} schemas already.") if before.nil? && schemas >= MAX

        schema = Schema.new(name, (before&.version || 0) + 1, definition)
        tx.put(@table, key(name), schema.dump)
        schema
      end
    end

    # @param name [String]
    # @return [Boolean] whether there was one
    def delete(name) = @table.delete(key(name))

    private

    def fault(schema, name)
      fault = schema&.fault(yield) or return
      "#{FAULT}#{name.inspect} version #{schema.version}: #{fault}"
    end

    def read(name, text)
      known = @read[name]
      return known.last if known && known.first == text

      @read.clear if @read.size >= MAX
      @read[name] = [text, Schema.load(text)]
      @read[name].last
    end

    def key(name) = name.bytesize <= 400 ? name : name.byteslice(0, 400)
  end
end
