# frozen_string_literal: true

require "cgi/escape"
require_relative "../entry"
require_relative "support"

module RingPools
  module Endpoints
    # The routes of /pools/ID/leases: lend a number to a session, extend and return it.
    class Leases < Elah::API
      IDEMPOTENCY_KEY = "Idempotency-Key"

      format :json
      helpers Support

      helpers do
        # @return [String, nil] who asks; the Idempotency-Key of a request without a session stands for one
        def session
          given = fields_or_none["session"]
          key = given.nil? ? request.header("idempotency-key")&.then { |value| "key:#{value}" } : given
          return if key.nil?

          key.is_a?(String) && key.match?(Definition::SESSION) or
            error!("A session, or an #{IDEMPOTENCY_KEY}, must have 1 to 250 visible ASCII characters.", 400, code: "invalid_session")
          key
        end

        # @return [String] the parameters as the text in which they are kept
        def parameters
          given = fields_or_none["parameters"]
          text = given.is_a?(Hash) ? encoded(given) : given.to_s
          return text if text.bytesize <= Credentials::PARAMETERS_BYTES_MAX

          error!("#{Credentials::PARAMETERS_RULE}.", 400, code: "parameters_too_long")
        end

        def encoded(given)
          given.map { |name, value| "#{CGI.escape(name)}=#{CGI.escape(value.to_s)}" }.join("&")
        end

        def fields_or_none = @fields_or_none ||= request.body.empty? ? {} : json_object

        def no_lease! = error!("There is no lease #{params['lease']}; it may be over.", 404, code: "lease_not_found")

        # @param lease [Hash] see RingPools::Service#allocate
        def show_lease(lease, definition)
          number = lease[:number]
          shown = { number: number && E164.format(number), formatted: number && E164.formatted(number),
                    tracking_url: number && WireRow.new(definition.tracking_url).url(number) }
          return { lease: nil, **shown, overflow: true, overflow_reason: lease[:reason] } unless lease[:id]

          { lease: lease[:id], **shown, session: lease[:session], begun_at: Timestamp.format(lease[:begun]),
            held_until: Timestamp.format(lease[:due]), overflow: false }
        end

        def send_allocation(lease, definition)
          case lease[:kind]
          when :refused
            error!("No number of pool #{definition.id} is free (#{lease[:reason]}), and it has no overflow number.", 503, { "retry-after" => "1" },
                   code: "no_number_available")
          when :overflow, :same then status 200
          end
          header "location", "http://#{request.host}/pools/#{definition.id}/leases/#{lease[:id]}" if lease[:id]
          show_lease(lease, definition)
        end

        # @return [Definition] of the pool, for those who may use it
        def pool_in_use = definition.tap { |found| authorize_for!(found) }
      end

      namespace "pools/:id/leases" do
        desc "Allocates a number; a session that has one gets the same"
        post do
          found = pool_in_use
          send_allocation(service.allocate(directory[found.id], session, parameters), found)
        end

        desc "Shows an active lease"
        get ":lease" do
          found = pool_in_use
          lease = pool(found).find(params["lease"]) or no_lease!
          show_lease(lease, found)
        end

        desc "Starts the hold again, except that of a number that is leaving the pool"
        put ":lease" do
          found = pool_in_use
          lease = pool(found).renew(params["lease"]) or no_lease!
          show_lease(lease, found)
        end

        desc "Returns the number"
        delete ":lease" do
          pool(pool_in_use).release(params["lease"]) or no_lease!
          body false
        end
      end
    end
  end
end
