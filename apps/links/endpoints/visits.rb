# frozen_string_literal: true

require_relative "../cache_control"
require_relative "../preview"
require_relative "../presenter"
require_relative "../record"

module Links
  module Endpoints
    # Owns what everybody meets: GET /CODE redirects and is counted, HEAD answers the same and is not, GET /CODE+ shows where
    # the link leads.
    #
    # The visit of a link without limits is the hot path of this app: one look-up, one count, one answer with headers that
    # were made at boot.
    class Visits < Elah::API
      format :json
      error_format :problem

      PRIVACY = { "referrer-policy" => "strict-origin-when-cross-origin", "x-robots-tag" => "noindex" }.freeze
      GONE = { "cache-control" => "no-store", **PRIVACY }.freeze

      # By the kind of a record of a link without limits: the status, and the headers beside Location.
      STATUS = Link::STATUSES
      HEADERS = STATUS.map do |status|
        cache = Link::PERMANENT.include?(status) ? CacheControl::PERMANENT : CacheControl::TEMPORARY
        { "cache-control" => cache, **PRIVACY }.freeze
      end.freeze

      helpers do
        def store = Links.service.store

        def redirect_limited(code, record, count:)
          link = Record.decode(code, record)
          now = Timestamp.now
          refuse_untimely(link, now)
          if link.max_visits
            used_up! unless count ? store.take_visit(code, link.max_visits) : store.visits(code) < link.max_visits
          elsif count
            store.count_visit(code)
          end
          request.respond(link.status, { "location" => link.target, "cache-control" => CacheControl.for(link, now), **PRIVACY }, "")
        end

        def refuse_untimely(link, now)
          error!("The link #{link.code} is not valid yet.", 404, GONE, code: "link_not_active") unless link.started?(now)
          error!("The link #{link.code} has expired.", 410, GONE, code: "link_expired") if link.expired?(now)
        end

        def used_up! = error!("The link has been visited as often as it may be.", 410, GONE, code: "link_used_up")

        def preview(code)
          record = store.record(code) or no_link!(code)
          link = Record.decode(code, record)
          refuse_untimely(link, Timestamp.now)
          Preview.new(link, Presenter.new(Links.service.base_url(request.header("host")))).answer(request)
        end

        def no_link!(code) = error!("There is no link with the code #{code}.", 404, GONE, code: "link_not_found")
      end

      desc "Redirects to the target and counts the visit; CODE+ shows the target instead"
      get ":code", raw: true do
        store = self.store
        code = request.path
        code = code.byteslice(1, code.bytesize)
        if (record = store.record(code))
          kind = record.getbyte(0)
          if kind < Record::LIMITED
            store.count_visit(code)
            request.respond(STATUS[kind], { "location" => Record.target(record), **HEADERS[kind] }, "")
          else
            redirect_limited(code, record, count: true)
          end
        elsif code.end_with?("+", "%2B", "%2b")
          preview(code[/\A[^+%]*/])
        else
          no_link!(code)
        end
      end

      desc "Answers as GET does, and does not count"
      head ":code", raw: true do
        code = request.path.delete_prefix("/")
        record = store.record(code) or no_link!(code)
        redirect_limited(code, record, count: false)
      end
    end
  end
end
