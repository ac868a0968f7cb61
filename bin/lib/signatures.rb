# frozen_string_literal: true

require "bigdecimal"
require "date"
require "forwardable"
require "logger"
require "socket"
require_relative "../../lib/elah/errors"
require_relative "../../lib/elah/concurrency/cpus"
require_relative "../../lib/elah/config/options"

# The signatures of Elah's public API in RBS, made from the YARD comments of lib/.
module Signatures
  # What an object must respond to in place of a class, as YARD's `#name` says: the type's name, and its declaration. RBS before 3.5 cannot say
  # "any parameters", so a callable has a name, and no type.
  def self.duck(type, *methods) = [type, "interface #{type.delete_prefix('Elah::')}\n#{methods.map { |method| "  def #{method}\n" }.join}end"]
  private_class_method :duck

  DUCKS = {
    "call" => ["Elah::callable", "type callable = untyped"],
    "each" => ["_Each[untyped]"],
    "to_s" => ["_ToS"],
    "connections_max" => duck("Elah::_ConnectionsMax", "connections_max: () -> Integer"),
    "deliver" => duck("Elah::_Destination", "deliver: (Array[Elah::Sink::Event] events) -> untyped"),
    "handle" => duck("Elah::_NativeApp", "handle: (Elah::Request request) -> untyped"),
    "full_name" => duck("Elah::_Scope", "full_name: ((String | Symbol) name, ?Array[Integer] indices) -> String"),
    "now" => duck("Elah::_Clock", "now: () -> Integer"),
    "origin" => duck("Elah::_Pattern", "origin: () -> String"),
    "rand" => duck("Elah::_Random", "rand: () -> Float"),
    "respond" => duck("Elah::_Respondent", "respond: (Integer status, untyped headers, String body) -> untyped"),
    "route" => duck("Elah::_DeferredCall", "route: () -> untyped", "call: () -> untyped"),
    "write" => duck("Elah::_Output", "write: (String text) -> untyped")
  }.freeze

  # Ruby's own libraries of whose classes the signatures speak.
  LIBRARIES = %w[bigdecimal date forwardable logger socket].freeze
end
require_relative "signatures/type"
require_relative "signatures/surface"
require_relative "signatures/method_type"
require_relative "signatures/files"
