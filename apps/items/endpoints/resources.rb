# frozen_string_literal: true

require_relative "../cursor"
require_relative "../item"
require_relative "support"

module Items
  module Endpoints
    # The routes of /items: create, list, show, delete.
    class Resources < Elah::API
      PAGE_MAX = 1000
      TAGS_MAX = 20
      NAME_MAX = 200
      DESCRIPTION_MAX = 10_000

      format :json
      helpers Support

      namespace :items do
        desc "Creates an item"
        params do
          requires :name, type: String, allow_blank: false, length: { max: NAME_MAX }
          optional :description, type: String, default: "", length: { max: DESCRIPTION_MAX }
          optional :tags, type: Array[String], default: [], regexp: Support::TAG_RULE, length: { max: TAGS_MAX }
        end
        post raw: true do
          item = Item.create(name: params["name"], description: params["description"], tags: params["tags"])
          headers = { "content-type" => Support::JSON_TYPE, "location" => "http://#{request.host}/items/#{item.uuid}" }
          request.respond(201, headers, store.insert([item]).first)
        end

        desc "Lists items in the order of creation"
        params do
          optional :limit, type: Integer, default: 100, values: { value: 1..PAGE_MAX, message: "is a number from 1 to #{PAGE_MAX}" }
          optional :cursor, type: String, desc: "next_cursor of the page before"
          optional :tag, type: String, regexp: Support::TAG_RULE
        end
        get raw: true do
          cursor = params["cursor"]
          after = cursor ? Cursor.decode(cursor) || error!("Invalid cursor.", 400, code: "invalid_cursor") : 0
          documents, last = store.page(after: after, limit: params["limit"], scope: params["tag"] || Slots::ALL)
          next_cursor = last ? %("#{Cursor.encode(last)}") : "null"
          request.respond(200, Support::PLAIN, %({"items":[#{documents.join(',')}],"next_cursor":#{next_cursor}}))
        end

        desc "Shows an item"
        get ":uuid", raw: true do
          uuid = request.route_param("uuid")
          request.respond(200, Support::PLAIN, store.find(uuid) || no_item!(uuid))
        end

        desc "Deletes an item"
        delete(":uuid") { store.delete([params["uuid"]]).zero? ? no_item!(params["uuid"]) : body(false) }
      end
    end
  end
end
