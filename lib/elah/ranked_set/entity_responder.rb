# frozen_string_literal: true

module Elah
  class RankedSet
    # The `responder:` of a route whose path names an entity that has a set: answers plain requests before the handler begins, while the entity
    # is in memory here and nobody calls it. The entity has a public method `responder`, and for submissions `submission_responder`, which give
    # a {Responder}, or nil when the handler is to answer; they are asked for each request, and must not wait
    # or start fibers.
    #
    #   get("ladders/:id/top", raw: true, responder: Elah::RankedSet::EntityResponder.top(LADDERS, 10)) { answer(LADDERS[id].top(10)) }
    class EntityResponder
      class << self
        # Answers with the member that the path names, its rank and its score.
        #
        # @param region [Entity::Region]
        # @param key [String] the parameter of the route that names the entity
        # @return [EntityResponder]
        # @raise [TypeError] when `region` is none
        def row(region, key: "id") = of(region, key, "row")

        # Answers with the first members. The text is kept until the set changes.
        #
        # @param region [Entity::Region]
        # @param count [Integer]
        # @param key [String]
        # @return [EntityResponder]
        # @raise [TypeError]
        def top(region, count, key: "id") = of(region, key, "top", count)

        # Answers with the member that the path names, between its neighbours.
        #
        # @param region [Entity::Region]
        # @param distance [Integer] how many on each side, if there are so many
        # @param key [String]
        # @return [EntityResponder]
        # @raise [TypeError]
        def around(region, distance, key: "id") = of(region, key, "around", distance)

        # Submits the score of a body like `{"score":120,"operator":"set"}` for the member that the path names, and answers as
        # {Texts#submit_json} does, when the row is as safe as the entity's class says. If it cannot be stored, the handler begins.
        #
        # @param region [Entity::Region]
        # @param key [String]
        # @param api_key [ApiKey, nil] requests without it go to the handler
        # @return [EntityResponder]
        # @raise [TypeError]
        def submission(region, key: "id", api_key: nil) = of(region, key, "submission", api_key: api_key)

        private :new_native

        private

        def of(region, key, answer, count = 0, api_key: nil)
          raise TypeError, "Entities are found by an Elah::Entity::Region, not by #{region.class}." unless region.is_a?(Entity::Region)

          new_native(region, key, answer, count, api_key&.digest)
        end
      end
    end
  end
end
