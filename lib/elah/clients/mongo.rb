# frozen_string_literal: true

# The Ruby half of the client of MongoDB's protocol: keywords, defaults of the calls and documentation. The other half is native
# (ext/elah/src/clients/mongo.rs, crates/elah-clients/src/mongo.rs).
require_relative "../native"
require_relative "client_bounds"
raise Elah::ClientMissing, "Elah::Mongo" unless defined?(Elah::Clients::Mongo)

class Elah::Mongo < Elah::Clients::Mongo; end
require_relative "mongo/errors"
require_relative "mongo/object_id"
require_relative "mongo/collection"

module Elah
  # A client of servers that speak MongoDB's protocol. A call suspends only the calling fiber; outside a worker's loop it blocks
  # the thread. It connects at its first use, so it may be created before a fork.
  #
  # @example
  #   mongo = Elah::Mongo.new("mongodb://127.0.0.1/shop")
  #   mongo["items"].insert_one({ name: "sling" })
  #   mongo["items"].find_one({ name: "sling" })  # => {"_id"=>#<Elah::Mongo::ObjectId ...>, "name"=>"sling"}
  class Mongo < Clients::Mongo
    NAMES = %i[database connections_max waiters_max pool_seconds connect_seconds query_seconds tls tls_ca_file
               tls_certificate_key_file].freeze
    BOUNDS = NAMES.grep(/_(max|seconds)\z/).freeze
    FILES = %i[tls_ca_file tls_certificate_key_file].freeze

    class << self
      # The default of each option comes from the URL (`maxPoolSize`, `waitQueueTimeoutMS`, `serverSelectionTimeoutMS`, `socketTimeoutMS`, `tls` and
      # similar), or else is the one given here.
      #
      # @param url [String] `mongodb://user:password@host:port,host:port/database?option=value`, or `mongodb+srv://`
      # @param options [Hash{Symbol=>Object}]
      # @option options [String] :database in place of the URL's
      # @option options [Integer] :connections_max (10) per worker
      # @option options [Integer] :waiters_max (16384) operations that may wait for a connection at once
      # @option options [Numeric] :pool_seconds (1) how long an operation may wait for a connection
      # @option options [Numeric] :connect_seconds (2) how long finding a server or connecting to it may take; half of
      #   `query_seconds` at most
      # @option options [Numeric] :query_seconds (5) time limit of an operation that has a connection
      # @option options [Boolean] :tls
      # @option options [String] :tls_ca_file certificates to trust, PEM; without it those of the common authorities
      # @option options [String] :tls_certificate_key_file the client's own certificate and key, PEM
      # @return [Elah::Mongo]
      # @raise [Elah::OptionError] when the URL or an option is wrong; the message holds no password
      def new(url, **options)
        options.compact!
        unknown = options.keys - NAMES
        raise OptionError, "Elah::Mongo has no option #{unknown.first}. Its options are #{NAMES.join(', ')}." unless unknown.empty?

        options.slice(*BOUNDS).each { |name, value| ClientBounds.check(self, name, value, zero: name == :pool_seconds) }
        FILES.each do |name|
          path = options[name]
          raise OptionError, "#{name}: #{path} cannot be read." unless path.nil? || File.readable?(path)
        end
        open_native(url, options)
      end

      # @!method to_bson(document)
      #   @param document [Hash]
      #   @return [String] the document's bytes, as they are sent
      #   @raise [InvalidValue]

      # @!method from_bson(bytes)
      #   @param bytes [String]
      #   @return [Hash{String=>Object}]
      #   @raise [InvalidReply]

      private :open_native, :register_object_id, :generate_object_id
    end

    # @param name [String, Symbol]
    # @return [Collection] the collection of that name, which is created with its first document
    # @raise [InvalidValue] when no collection can have the name
    def collection(name)
      name = name.to_s
      unless name.match?(/\A[^$\0.][^$\0]*\z/) && name.bytesize <= 255
        raise InvalidValue, "The name of a collection must have 1 to 255 bytes, no $ and no NUL, and must not begin with a dot, not " \
                            "#{name.inspect}."
      end

      Collection.new(self, name.freeze)
    end
    alias [] collection

    # @!method run_command(command)
    #   Runs a command on the database.
    #   @param command [Hash] its first key is the name of the command
    #   @return [Hash{String=>Object}] the reply
    #   @raise [Refused]

    # @!method servers
    #   @return [String] the hosts and ports of the URL

    # @!method database
    #   @return [String] its name

    # @!method connections_max
    #   @return [Integer]

    # @return [Hash{Symbol=>Integer}] operations of this worker that run, and that wait for a connection
    def load = %i[running waiting].zip(load_native).to_h

    # @!method close
    #   Closes all connections. Operations that run end by themselves; new ones raise {Closed}.
    #   @return [nil]

    # @!method closed?
    #   @return [Boolean]

    def inspect = "#<Elah::Mongo #{servers}/#{database}>"

    private :find_native, :find_one_native, :aggregate_native, :count_native, :insert_native, :update_native, :delete_native,
            :find_one_and_native, :create_indexes_native, :drop_native, :bulk_write_native, :load_native

    register_object_id(ObjectId)
  end
end
