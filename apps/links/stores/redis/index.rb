# frozen_string_literal: true

module Links
  module Stores
    class Redis
      # Owns the keys by which links are found otherwise than by their code:
      #
      #   links:codes               sorted set of codes, each with the time of creation of its link
      #   links:newest              sorted set of places: time of creation, code
      #   links:tag:TAG             the same, of the links with that tag
      #   links:target:FINGERPRINT  the code of a link without limits that redirects so
      #
      # Each is a key of its own, in a cluster on a node of its own, so an entry may outlive its link. Readers look at the link. An entry names
      # the time of creation too, so that whoever removes it leaves that of the next link with the code.
      class Index
        CODES = "links:codes"
        NEWEST = "links:newest"

        # @param redis [Elah::Redis]
        def initialize(redis)
          @redis = redis
          @replace = redis.script(Scripts::REPLACE)
        end

        # @param links [Array<Link>]
        def add(links)
          @redis.pipelined do |batch|
            batch.zadd(CODES, links.flat_map { |link| [0, code_entry(link)] })
            batch.zadd(NEWEST, links.flat_map { |link| [0, Place.of(link)] })
            links.each { |link| link.tags.each { |tag| batch.zadd(tag_key(tag), 0, Place.of(link)) } }
          end
        end

        # @param link [Link]
        def remove(link)
          place = Place.of(link)
          @redis.pipelined do |batch|
            batch.zrem(CODES, code_entry(link))
            batch.zrem(NEWEST, place)
            link.tags.each { |tag| batch.zrem(tag_key(tag), place) }
          end
        end

        # @param before [Link]
        # @param link [Link] as it is now
        def move(before, link)
          gone = before.tags - link.tags
          @redis.pipelined { |batch| gone.each { |tag| batch.zrem(tag_key(tag), Place.of(link)) } } if gone.any?
        end

        # @param tag [String, nil]
        # @param after [String, nil]
        # @param limit [Integer]
        # @return [Array<String>] places, the newest first
        def places(tag, after, limit)
          @redis.zrange(tag ? tag_key(tag) : NEWEST, after ? "(#{after}" : "+", "-", "BYLEX", "REV", "LIMIT", 0, limit)
        end

        # @param after [String, nil]
        # @param limit [Integer]
        # @return [Array<String>] places in the order of their codes
        def places_after(after, limit)
          entries = @redis.zrange(CODES, after ? "(#{after}\1" : "-", "+", "BYLEX", "LIMIT", 0, limit)
          entries.map { |entry| entry.byteslice(-Place::TIME_BYTES..) << entry.byteslice(0..(-Place::TIME_BYTES - 2)) }
        end

        # @return [Integer]
        def size = @redis.zcard(CODES)

        # @param fingerprint [String]
        # @return [String, nil] the code of a link that redirected so once
        def target(fingerprint) = @redis.get(target_key(fingerprint))&.force_encoding(Encoding::UTF_8)

        # @param link [Link]
        # @param fingerprint [String]
        # @yieldparam code [String] of the link that has the place
        # @yieldreturn [Boolean] whether it still redirects so
        def claim_target(link, fingerprint)
          return if @redis.set(target_key(fingerprint), link.code, nx: true)

          until (holder = target(fingerprint)) && yield(holder)
            break if replace_target(fingerprint, holder.to_s, link.code)
          end
        end

        # @param link [Link] that redirects so no more
        # @param fingerprint [String]
        def release_target(link, fingerprint) = replace_target(fingerprint, link.code, "")

        private

        # No code has a null byte, so entries are in the order of their codes.
        def code_entry(link) = "#{link.code}\0".b << [link.created_at].pack("Q>")

        def tag_key(tag) = "links:tag:#{tag}"

        def target_key(fingerprint) = "links:target:".b << fingerprint

        def replace_target(fingerprint, from, to) = @replace.call(keys: [target_key(fingerprint)], args: [from, to]) == 1
      end
    end
  end
end
