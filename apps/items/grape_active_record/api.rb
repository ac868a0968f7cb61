# frozen_string_literal: true

require "grape"
require "json"
require_relative "../cursor"
require_relative "../draw"
require_relative "../uniformity/tally"
require_relative "store"

module Items
  # The routes of the random-item API in Grape, with the same responses as those in Elah::API.
  class GrapeAPI < Grape::API
    RULE = /\A[A-Za-z0-9_.:-]{1,64}\z/.freeze
    # Text that is not UTF-8 would raise an exception outside of Grape's rules.
    UTF8 = :scrub.to_proc
    PROBLEM = "application/problem+json"

    class << self
      attr_reader :store, :draw, :tally

      # @param store [Stores::ActiveRecord]
      # @return [Class] this one
      def serving(store)
        @store = store
        @tally = Uniformity::Tally.new
        @draw = Draw.new(store, @tally)
        self
      end
    end

    # Documents are sent as stored; everything else is generated.
    format :json
    formatter :json, ->(value, _) { value.is_a?(String) ? value : JSON.generate(value) }

    helpers do
      def store = GrapeAPI.store

      def envelop(data) = %({"success":true,"data":#{data}})

      def problem!(status, code, detail, more = {}, headers = {})
        headers = { "Content-Type" => PROBLEM, "Cache-Control" => "no-store" }.merge(headers)
        body = { type: "about:blank", title: Rack::Utils::HTTP_STATUS_CODES[status], status: status, detail: detail, code: code,
                 request_id: SecureRandom.hex(8) }
        error!(body.merge(more), status, headers)
      end

      def no_item!(uuid) = problem!(404, "item_not_found", "There is no item with the uuid #{uuid}.")
    end

    error_formatter :json, ->(message, *) { JSON.generate(message) }

    rescue_from(Grape::Exceptions::ValidationErrors) do |e|
      errors = e.errors.map { |names, messages| { params: names, message: messages.first.to_s } }
      problem!(400, "validation_failed", e.message, errors: errors)
    end
    rescue_from(Grape::Exceptions::InvalidMessageBody) { |e| problem!(400, "invalid_body", e.message) }
    rescue_from(Grape::Exceptions::MethodNotAllowed) { |e| problem!(405, "method_not_allowed", e.message, {}, e.headers) }
    rescue_from(NoItems) { |e| problem!(404, "no_items", e.message) }
    rescue_from(::ActiveRecord::ConnectionNotEstablished) { |e| problem!(503, "store_unavailable", e.message.lines.first.chomp) }

    get(:livez) { { status: "alive" } }
    get(:readyz) { { status: "ready", items: store.size } }

    get(:servicehealth) { envelop(%({"status":"ready","items":#{store.size}})) }

    namespace "v1/items" do
      get :random do
        header "Cache-Control", "no-store"
        envelop(GrapeAPI.draw.one)
      end
      get { envelop("[#{store.page(after: 0, limit: 100, scope: Slots::ALL).first.join(',')}]") }
      get(":uuid") { envelop(store.find(params[:uuid]) || no_item!(params[:uuid])) }
    end

    namespace :items do
      params do
        optional :n, type: Integer, values: 1..1000
        optional :distinct, type: Grape::API::Boolean, default: true
        optional :tag, type: String, coerce_with: UTF8, regexp: RULE
        optional :seed, type: Integer, values: 0..(2**64 - 1)
      end
      get :random do
        header "Cache-Control", "no-store"
        tag = params[:tag] || Slots::ALL
        next GrapeAPI.draw.one(tag) unless params[:n] || params[:seed]

        documents = GrapeAPI.draw.many(params[:n] || 1, tag: tag, distinct: params[:distinct], seed: params[:seed])
        params[:n] ? %({"items":[#{documents.join(',')}]}) : documents.first
      end

      get :uniformity do
        header "Cache-Control", "no-store"
        GrapeAPI.tally.report
      end

      params do
        requires :name, type: String, allow_blank: false
        optional :description, type: String, default: ""
        optional :tags, type: Array[String], default: [], regexp: RULE
      end
      post do
        problem!(400, "validation_failed", "tags has more than 20 elements", errors: [{ params: ["tags"] }]) if params[:tags].size > 20
        item = Item.create(name: params[:name], description: params[:description], tags: params[:tags])
        header "Location", "http://#{request.host_with_port}/items/#{item.uuid}"
        store.insert([item]).first
      end

      params do
        optional :limit, type: Integer, default: 100, values: 1..1000
        optional :cursor, type: String
        optional :tag, type: String, coerce_with: UTF8, regexp: RULE
      end
      get do
        cursor = params[:cursor]
        after = cursor ? Cursor.decode(cursor) || problem!(400, "invalid_cursor", "Invalid cursor.") : 0
        documents, last = store.page(after: after, limit: params[:limit], scope: params[:tag] || Slots::ALL)
        %({"items":[#{documents.join(',')}],"next_cursor":#{last ? JSON.generate(Cursor.encode(last)) : 'null'}})
      end

      get(":uuid") { store.find(params[:uuid]) || no_item!(params[:uuid]) }

      delete ":uuid" do
        no_item!(params[:uuid]) if store.delete([params[:uuid]]).zero?
        body false
      end
    end
  end
end
