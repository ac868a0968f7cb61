# frozen_string_literal: true

require "digest/sha1"

module Elah
  class Redis < Clients::Redis
    # A Lua script that the server keeps. Only its digest is sent, but to a server that does not know it yet.
    class Script
      # @return [String] Lua
      attr_reader :source
      # @return [String] digest of the script on the server
      attr_reader :digest

      # @param redis [Redis]
      # @param source [String] Lua
      def initialize(redis, source)
        @redis = redis
        @source = source.dup.freeze
        @digest = Digest::SHA1.hexdigest(source).freeze
      end

      # Runs it: all or nothing, with no other command in between.
      #
      # @param keys [Array<String>] `KEYS`; in a cluster all of one slot
      # @param args [Array<String, Symbol, Numeric>] `ARGV`
      # @return [Object] what the script returns
      # @raise [Redis::Error] when it fails
      def call(keys: [], args: [])
        @redis.call("EVALSHA", @digest, keys.size, *keys, *args)
      rescue Redis::Error => e
        raise unless e.code == "NOSCRIPT"

        @redis.eval(@source, keys: keys, args: args)
      end

      # Runs it many times in one round trip, each time all or nothing.
      #
      # @param runs [Array<Hash{Symbol=>Object}>] the `keys:` and `args:` of each run
      # @return [Array] what the runs return
      # @raise [Redis::Error] of the first run that failed; the others have been done
      def call_each(runs)
        replies = send_each(runs) { |batch, keys, args| batch.call("EVALSHA", @digest, keys.size, *keys, *args) }
        unknown = replies.each_index.select { |index| replies[index].is_a?(Redis::Error) && replies[index].code == "NOSCRIPT" }
        unless unknown.empty?
          again = send_each(runs.values_at(*unknown)) { |batch, keys, args| batch.eval(@source, keys: keys, args: args) }
          unknown.zip(again) { |index, reply| replies[index] = reply }
        end
        replies.each { |reply| raise reply if reply.is_a?(Exception) }
      end

      # @return [String] without the source
      def inspect = "#<#{self.class} #{@digest}>"

      private

      def send_each(runs)
        @redis.pipelined(exception: false) { |batch| runs.each { |run| yield batch, run.fetch(:keys, []), run.fetch(:args, []) } }
      end
    end
  end
end
