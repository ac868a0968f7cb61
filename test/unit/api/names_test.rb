# frozen_string_literal: true

require "support/api_case"

# The names that an app gives to the instance variables of its handlers and of its classes, and to its class methods.
class APINamesTest < APICase
  NAMES = %i[
    request params headers header cookies env status body version route format stream key state store name id timer once
    logger config options settings message error result block file input document captures backtrace
  ].freeze

  # Helpers that use any variables.
  module Remembering
    def remember(value) = NAMES.each { |name| instance_variable_set("@#{name}", value) }
    def remembered = NAMES.map { |name| instance_variable_get("@#{name}") }.uniq
  end

  # With a cookie or a status, the response was the `@body` that a handler had for itself, and its `@status` the status.
  def test_a_handler_may_have_any_instance_variables
    shop = api do
      format :json
      version "v1", using: :param, parameter: "v"
      helpers Remembering
      before { remember("other") }
      after { header "x-after", remembered.join }
      rescue_from(ArgumentError) { |e| error!(e.message, 422) }
      params { optional :n, type: Integer }
      get(:plain) { { n: params[:n], kept: remembered } }
      get(:headers) do
        header "x-own", "1"
        cookies[:a] = "1"
        remember("other")
        [params[:n], version, request.path, headers["X-Agent"], env["PATH_INFO"]]
      end
      post(:status) { (status 202) && remember("other") && { n: params[:n] } }
      get(:fails) { remember("other") && raise(ArgumentError, "refused") }
    end

    assert_equal({ "n" => 1, "kept" => ["other"] }, get(shop, "/plain?n=1&v=v1").json)
    answer = get(shop, "/headers?n=1&v=v1", headers: { "X-Agent" => "me" })
    assert_equal %w[1 v1 /headers me /headers], answer.json
    assert_equal ["1", "other", ["a=1"]], answer.headers.values_at("x-own", "x-after", "set-cookie")
    answer = post_json(shop, "/status?v=v1", { n: 2 })
    assert_equal [202, { "n" => 2 }], [answer.status, answer.json]
    answer = get(shop, "/fails?v=v1")
    assert_equal [422, { "error" => "refused" }], [answer.status, answer.json]
  end

  # A body was a 500 where a helper had this name.
  def test_a_helper_may_have_the_name_route
    shop = api do
      format :json
      helpers { def route = "by sea" }
      post(:orders) { { n: params[:n], route: route } }
    end
    assert_equal({ "n" => 1, "route" => "by sea" }, post_json(shop, "/orders", { n: 1 }).json)
    form = { "Content-Type" => "application/x-www-form-urlencoded" }
    assert_equal({ "n" => "1", "route" => "by sea" }, post(shop, "/orders", body: "n=1", headers: form).json)
  end

  # They were those of Elah: a text in `@description` was that of an endpoint, and `@definitions` its routes.
  def test_the_class_of_an_api_may_have_any_instance_variables
    shop = api do
      names = NAMES + %i[dispatcher definitions layers description route_settings routes]
      names.each { |name| instance_variable_set("@#{name}", "other") }
      format :json
      get(:first) { { ok: 1 } }
      namespace(:inner) { get(:second) { { ok: 2 } } }
      names.each { |name| instance_variable_set("@#{name}", "other") }
    end
    assert_equal [{ "ok" => 1 }, { "ok" => 2 }], [get(shop, "/first").json, get(shop, "/inner/second").json]
    assert_equal ["other"], %i[@dispatcher @layers @logger].map { |name| shop.instance_variable_get(name) }.uniq
  end

  # With a class method `stack` its hooks and helpers were missing, with `scopes` the routes of its namespaces.
  def test_an_api_may_have_class_methods_of_any_name
    shop = api do
      names = %i[settings scopes stack inherit definitions dispatcher captured_layers within_layer helper_module]
      names.each { |name| define_singleton_method(name) { |*| { read: 1 } } }
      format :json
      prefix :api
      helpers { def admitted? = headers["X-Key"] == "k" }
      before { error!("no key", 401) unless admitted? }
      namespace(:inner) do
        params { requires :n, type: Integer }
        get(:own) { { n: params[:n] } }
      end
    end
    assert_equal 401, get(shop, "/api/inner/own?n=1").status
    assert_equal({ "n" => 1 }, get(shop, "/api/inner/own?n=1", headers: { "X-Key" => "k" }).json)
  end
end
