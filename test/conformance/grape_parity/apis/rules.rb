# frozen_string_literal: true

# Owns the APIs that try the rules of single parameters.
module Parity
  # The rules.
  class Rules < API_BASE
    format :json
    params { requires :name }
    get(:requires) { params }
    params { requires :a, :b, type: Integer }
    get(:requires_two) { params }
    params { requires :name, message: "must be given" }
    get(:requires_message) { params }
    params { requires :name, allow_blank: false }
    get(:not_blank) { params }
    params { optional :name, allow_blank: { value: false, message: "must say something" } }
    get(:not_blank_message) { params }
    params { requires :v, values: %w[a b] }
    get(:values) { params }
    params { optional :v, type: Integer, values: 1..5, default: 3 }
    get(:range) { params }
    params { optional :v, type: Integer, values: { value: 1..5, message: "is out of range" } }
    get(:range_message) { params }
    params { optional :v, values: -> { %w[x y] } }
    get(:values_proc) { params }
    params { optional :v, type: Integer, values: ->(v) { v.even? } }
    get(:values_judge) { params }
    params { optional :v, except_values: %w[root admin] }
    get(:except_values) { params }
    params { optional :v, type: Array[Integer], values: [1, 2, 3] }
    get(:list_values) { params }
    params { optional :v, type: Symbol, values: %i[up down] }
    get(:symbol_values) { params }
    params { requires :v, regexp: /\A[a-z]+\z/ }
    get(:regexp) { params }
    params { optional :v, regexp: { value: /\A\d+\z/, message: "must be digits" } }
    get(:regexp_message) { params }
    params { requires :password; requires :again, same_as: :password }
    get(:same_as) { params }
    params { optional :v, default: "static" }
    get(:default) { params }
    params { optional :v, type: Array, default: -> { [1] } }
    get(:default_proc) { params }
    params { optional :v, type: Boolean, default: false }
    get(:default_false) { params }
    params { requires :a, fail_fast: true; requires :b }
    get(:fail_fast) { params }
    params { optional :a; optional :b; optional :c; mutually_exclusive :a, :b, :c }
    get(:mutually_exclusive) { params }
    params { optional :a; optional :b; exactly_one_of :a, :b }
    get(:exactly_one_of) { params }
    params { optional :a; optional :b; at_least_one_of :a, :b, message: "need one" }
    get(:at_least_one_of) { params }
    params { optional :a; optional :b; all_or_none_of :a, :b }
    get(:all_or_none_of) { params }
    params do
      optional :kind
      given :kind do
        requires :size, type: Integer
      end
      given kind: ->(kind) { kind == "big" } do
        requires :reason
      end
    end
    get(:given) { params }
    params { with(type: Integer, values: 1..9) { requires :a; optional :b } }
    get(:with) { params }
    params { requires :all, using: { a: { type: Integer }, b: { type: String } }, except: :b }
    get(:using) { params }
    params { optional :v, as: :w, type: Integer }
    get(:as) { { params: params, declared: declared(params) } }
    params { requires :n, desc: "number", documentation: { example: 1 }, type: Integer }
    get(:documented) { { documented: route.params["n"][:desc], required: route.params["n"][:required] } }
    params { optional :v, type: Integer, values: 1..5, allow_blank: true }
    get(:blank_values) { params }
  end
end
