# frozen_string_literal: true

require_relative "../../web_page"
require_relative "../cache_control"
require_relative "../errors"
require_relative "../preview"
require_relative "../presenter"
require_relative "../record"
require_relative "support"

module Links
  module Endpoints
    # The public routes: GET /CODE redirects and counts, HEAD responds the same without counting, GET /CODE+ shows the target.
    #
    # The visit of a link without limits is the hot path of this app: one look-up, one count, one response with headers made at
    # boot.
    class Visits < Elah::API
      format :json

      PRIVACY = { "referrer-policy" => "strict-origin-when-cross-origin", "x-robots-tag" => "noindex" }.freeze
      GONE = { "cache-control" => "no-store", "vary" => "accept", **PRIVACY }.freeze
      TITLES = { 404 => "There is no such link", 410 => "This link has ended" }.freeze

      # Headers for a link without limits and with status 302. {Elah::Request#redirect} sets the Location.
      FOUND = Link::STATUSES.first
      FOUND_HEADERS = Elah::HeaderSet.new({ "location" => "/", "cache-control" => CacheControl::TEMPORARY, **PRIVACY })

      helpers do
        def store = Links.service.store

        # @param redirect [String] see Record
        def visit(code, redirect, count:)
          link = Record.read_redirect(code, redirect)
          now = store.now
          refuse_untimely(link, now)
          if link.max_visits
            used_up! unless count ? store.take_visit(code, link.max_visits) : store.visits(code) < link.max_visits
          elsif count
            store.count_visit(code)
          end
          request.redirect(link.status, link.target, { "cache-control" => CacheControl.for(link, now), **PRIVACY })
        end

        def refuse_untimely(link, now)
          dead!(404, "link_not_active", "The link #{link.code} is not valid yet.") unless link.started?(now)
          dead!(410, "link_expired", "The link #{link.code} has expired.") if link.expired?(now)
        end

        def used_up! = dead!(410, "link_used_up", "The link has been visited as often as it may be.")

        def preview(code)
          link = store.find(code) or no_link!(code)
          refuse_untimely(link, store.now)
          Preview.new(link, Presenter.new(Links.service.base_url(request.header("host")))).send_to(request)
        end

        def no_link!(code) = dead!(404, "link_not_found", "There is no link with the code #{code}.")

        def dead!(status, code, message)
          raise Dead.new(status, message) if WebPage.wanted?(request.header("accept"))

          error!(message, status, GONE, code: code)
        end
      end

      rescue_from(Dead) { |e| rack_response(WebPage.error(TITLES.fetch(e.status), e.message, e.status), e.status, { **WebPage.headers, **GONE }) }

      desc "Redirects to the target and counts the visit; CODE+ shows the target instead"
      get ":code", raw: true do
        store = Links.service.store
        code = request.route_param("code")
        if (redirect = store.redirect(code))
          return visit(code, redirect, count: true) unless Record.plain?(redirect)

          store.count_visit(code)
          request.redirect(FOUND, redirect, FOUND_HEADERS)
        elsif code.end_with?("+")
          preview(code.delete_suffix("+"))
        else
          no_link!(code)
        end
      end

      desc "Responds as GET does, without counting the visit"
      head ":code", raw: true do
        code = request.route_param("code")
        redirect = store.redirect(code) or no_link!(code)
        visit(code, redirect, count: false)
      end
    end
  end
end
