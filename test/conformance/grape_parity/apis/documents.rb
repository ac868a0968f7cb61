# frozen_string_literal: true

# Owns the APIs that try one fixed format, hooks, helpers, entities and `declared`.
module Parity
  # One fixed format, hooks, helpers, entities, declared.
  class Documents < API_BASE
    # A Hash of the app's own, as Hashie::Mash is one.
    class OwnHash < Hash; end

    # A stand-in for an entity class: anything that responds to `represent`.
    class LinkEntity
      def self.represent(object, options = {})
        return object.map { |item| represent(item, options) } if object.is_a?(Array)

        { code: object.code, admin: options[:admin], version: options[:version] }.compact
      end
    end

    # Finds its entity by itself.
    class Found
      Entity = Class.new do
        def self.represent(object, _options = {}) = { found: object.value }
      end
      attr_reader :value

      def initialize(value) = @value = value
    end

    Link = Struct.new(:code)

    # Shared helpers, and parameters for `use`.
    module Paging
      extend(API_BASE.name == "Grape::API" ? Grape::API::Helpers : Elah::API::SharedParameters)

      params :paging do |options|
        optional :page, type: Integer, default: 1
        optional :per_page, type: Integer, default: 10, values: 1..(options[:max] || 100)
      end

      def shared = "shared"
    end

    format :json
    helpers Paging
    helpers do
      def shout(text) = text.to_s.upcase
      def track(step) = (@steps ||= []) << step

      params :named do
        requires :name, type: String
      end
    end

    before { track "before" }
    before_validation { track "before_validation" }
    after_validation { track "after_validation" }
    after { header "X-Steps", track("after").join(",") }

    get(:steps) { @steps }
    get(:text) { "a string" }
    get(:nothing) { nil }
    get(:helped) { { a: shout("x"), b: shared } }
    post(:echo) { params }
    put(:echo) { params }
    get(:error) { error! "no", 403 }
    get(:redirect) { redirect "/x" }
    params { requires :n, type: Integer }
    get(:checked) { { n: params[:n], steps: @steps } }
    get(:present_plain) { present({ a: 1 }) }
    get(:present_own_hash) { present :link, OwnHash["code", "abc"] }
    get(:present_with) { present Link.new("abc"), with: LinkEntity }
    get(:present_options) { present Link.new("abc"), with: LinkEntity, admin: true }
    get(:present_list) { present [Link.new("a"), Link.new("b")], with: LinkEntity }
    get(:present_root) { present Link.new("abc"), with: LinkEntity, root: :link }
    get(:present_found) { present Found.new(3) }
    get(:present_keys) { present :total, 2; present :links, [Link.new("a")], with: LinkEntity }
    get(:present_merged) { present Link.new("a"), with: LinkEntity; present Link.new("b"), with: LinkEntity, admin: 1 }
    params { use :paging }
    get(:page) { declared(params) }
    params { use :paging, max: 20 }
    get(:page_max) { declared(params) }
    params { use :named, :paging }
    get(:named) { declared(params) }
    params do
      requires :first, type: String
      optional :second, type: Integer
      optional :flags, type: Array[String]
      optional :kinds, type: Set[String]
      optional :address, type: Hash do
        requires :street, type: String
        optional :zip, type: Integer
      end
      optional :rows, type: Array do
        requires :key
        optional :note
      end
      optional :free, type: Hash
      optional :old, as: :renamed
    end
    post(:declared) { declared(params) }
    params do
      requires :first
      optional :second
      optional :group, type: Hash do
        optional :inner
      end
    end
    post(:declared_given) { declared(params, include_missing: false) }
    params { optional :first; optional :second }
    post(:declared_options) { options = { include_missing: false }; declared(params, options) }
    params { requires :outer }
    namespace "spaces/:space" do
      params { requires :inner }
      post(:all) { declared(params) }
      params { requires :inner }
      post(:own) { declared(params, include_parent_namespaces: false) }
      post(:no_own) { declared(params) }
    end
    get(:declared_without) { declared(params) }
    route_setting :custom, { level: 3 }
    get(:route_setting) { { level: route.settings[:custom][:level], description: route.description } }
    desc "Told", detail: "More"
    get(:described) { { description: route.description, version: route.version } }
  end
end
