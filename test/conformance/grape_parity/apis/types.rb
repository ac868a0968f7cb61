# frozen_string_literal: true

# Owns the APIs that try the types that parameters are read as.
module Parity
  # A type of the app's own.
  class Color
    attr_reader :name

    def self.parse(value)
      raise ArgumentError, "not a color" unless %w[red green].include?(value)

      new(value)
    end

    def initialize(name) = @name = name
    def to_json(*state) = "color:#{name}".to_json(*state)
  end

  # Coercion to every type.
  class Types < API_BASE
    # Shows a value with its class.
    module Shown
      def shown(value)
        name = value.class.name.sub(/\A.*(Params|HashWithIndifferentAccess)\z/, "Hash")
        { value: value.is_a?(Set) ? value.to_a : value, class: name }
      end
    end

    format :json
    helpers Shown
    {
      integer: Integer, float: Float, decimal: BigDecimal, numeric: Numeric, date: Date, time: Time,
      date_time: DateTime, boolean: Boolean, string: String, symbol: Symbol, hash: Hash, array: Array, json: JSON,
      json_array: Array[JSON], integers: Array[Integer], strings: Array[String], unique: Set[Integer], color: Color,
      colors: Array[Color], mixed: [Integer, String], dates_or_numbers: [Integer, Date], set: Set, file: File,
      nested: Array[Array[Integer]]
    }.each do |name, type|
      params { optional :v, type: type }
      get(name) { shown(params[:v]) }
      params { optional :v, type: type }
      post(name) { shown(params[:v]) }
    end
    params { optional :v, types: [Integer, Boolean, String] }
    get(:one_of) { shown(params[:v]) }
    params { optional :v, types: [Integer, Array[Integer]] }
    get(:one_or_many) { shown(params[:v]) }
    params { optional :v, type: Integer, coerce_with: ->(value) { value.to_s.length } }
    get(:coerce_with) { shown(params[:v]) }
    params { optional :v, type: Array[Integer], coerce_with: ->(value) { value.split(",").map(&:to_i) } }
    get(:split) { shown(params[:v]) }
    params { optional :v, type: Hash, coerce_with: JSON }
    get(:json_hash) { shown(params[:v]) }
    params { requires :v, type: { value: Integer, message: "must be a whole number" } }
    get(:message) { shown(params[:v]) }
    params do
      requires :j, type: JSON do
        requires :a, type: Integer
        optional :b, type: Array[Integer]
      end
    end
    get(:json_group) { shown(params[:j]) }
    params do
      requires :js, type: Array[JSON] do
        requires :a, type: Integer
      end
    end
    get(:json_groups) { shown(params[:js]) }
    route_param :id, type: Integer do
      get { shown(params[:id]) }
    end
  end
end
