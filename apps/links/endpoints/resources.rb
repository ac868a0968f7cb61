# frozen_string_literal: true

require_relative "../cursor"
require_relative "../stored_request"
require_relative "support"

module Links
  module Endpoints
    # The routes of /links: create, list, show, change, delete.
    class Resources < Elah::API
      PAGE_MAX = 1000

      format :json
      helpers Support

      helpers do
        params :fields do
          optional :status, type: Integer, desc: "302, 301, 307 or 308"
          optional :expires_at, type: String, desc: "ISO 8601; from then on 410"
          optional :expires_in, type: Integer, desc: "seconds, in place of expires_at"
          optional :not_before, type: String, desc: "ISO 8601; until then 404"
          optional :max_visits, type: Integer, desc: "then 410"
          optional :title, type: String
          optional :tags, type: Array[String]
        end

        # @return [StoredRequest, nil]
        def stored_request
          key = request.header("idempotency-key") or return
          return StoredRequest.new(key, request.body) if key.match?(StoredRequest::KEY)

          error!("An Idempotency-Key must have 1 to 255 visible ASCII characters.", 400, code: "invalid_idempotency_key")
        end

        # @return [String, nil] where the page before ended
        def place_asked_for
          cursor = params["cursor"] or return
          place = Cursor.decode(cursor)
          place && store.place?(place) ? place : error!("Invalid cursor.", 400, code: "invalid_cursor")
        end

        # @param outcome [Creation::Outcome]
        # @param order [Order] which led to it
        def send_creation(outcome, order)
          case outcome.kind
          when :created then return located(order.link, order.visits)
          when :taken then error!("The code #{outcome.code} belongs to another link.", 409, code: "code_taken")
          when :mismatch then error!("Another request came with this Idempotency-Key before.", 422, code: "idempotency_mismatch")
          end
          link = store.find(outcome.code) or
            error!("The link of this Idempotency-Key was deleted.", 409, code: "idempotency_key_used")
          status 200 if outcome.kind == :found
          header "idempotency-replayed", "true" if outcome.kind == :repeated
          located(link, store.visits(link.code))
        end

        # @return [Hash] the link; sets the Location header
        def located(link, visits)
          header "location", presenter.location(link.code)
          presenter.show(link, visits)
        end
      end

      namespace :links do
        desc "Shows a link"
        get(":code") { shown(store.find(code) || no_link!(code)) }

        scope do
          before { authorize! }

          desc "Creates a link"
          params do
            requires :target, type: String, desc: "http or https URL"
            optional :code, type: String, desc: "instead of a generated one"
            optional :find_if_exists, type: Boolean, desc: "take an existing link that redirects in the same way"
            use :fields
          end
          post do
            order = Order.read(params, own: own_places, now: store.now, request: stored_request)
            send_creation(service.creation.run([order]).first, order)
          end

          desc "Lists links, the newest first"
          params do
            optional :limit, type: Integer, default: 100, values: { value: 1..PAGE_MAX, message: "is a number from 1 to #{PAGE_MAX}" }
            optional :cursor, type: String, desc: "next_cursor of the page before"
            optional :tag, type: String
          end
          get do
            tag = params["tag"]
            after = place_asked_for
            links, place = tag && !tag.match?(Fields::TAG) ? [] : store.page(tag: tag, after: after, limit: params["limit"])
            { links: links.to_a.map { |link| shown(link) }, next_cursor: place && Cursor.encode(place) }
          end

          desc "Changes a link; null removes a limit"
          params do
            optional :target, type: String
            use :fields
          end
          patch ":code" do
            fields = Fields.new(params, own: own_places, now: store.now)
            shown(store.update(code) { |link| fields.apply(link) } || no_link!(code))
          end

          desc "Deletes a link"
          delete(":code") { store.delete(code) ? body(false) : no_link!(code) }
        end
      end
    end
  end
end
