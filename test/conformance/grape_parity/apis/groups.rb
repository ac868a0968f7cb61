# frozen_string_literal: true

# Owns the APIs that try parameters that belong together.
module Parity
  # Groups of parameters.
  class Groups < API_BASE
    format :json
    params do
      requires :address, type: Hash do
        requires :street, type: String
        optional :zip, type: Integer, default: 9999
        optional :geo, type: Hash do
          requires :lat, type: Float
          requires :lon, type: Float
        end
      end
    end
    post(:hash) { params }
    params do
      requires :items, type: Array do
        requires :name, type: String, allow_blank: false
        optional :count, type: Integer, default: 1
        exactly_one_of :price, :free
        optional :price, type: Integer
        optional :free, type: Boolean
      end
    end
    post(:array) { params }
    params do
      optional :items, type: Array do
        requires :name
        optional :tags, type: Array do
          requires :label
        end
      end
    end
    post(:nested_arrays) { params }
    params do
      optional :filter, type: Hash do
        optional :from, type: Date
        optional :to, type: Date
        all_or_none_of :from, :to
      end
    end
    get(:optional_hash) { params }
    params do
      optional :rows, type: Array do
        optional :kind
        given :kind do
          requires :size, type: Integer
        end
      end
    end
    post(:given_in_array) { params }
    params do
      requires :items, type: Array do
        requires :h, type: Hash do
          requires :x, type: Integer
        end
      end
    end
    post(:hash_in_array) { params }
    params do
      group :g, type: Hash do
        requires :x
      end
    end
    post(:group) { params }
  end
end
