# frozen_string_literal: true

require_relative "visitors"

module Stats
  # The stored data of a request's sender: the visitor, and headers without secrets and without those that would reveal the
  # address.
  class Sender
    # Never stored.
    UNKEPT = %w[cookie authorization proxy-authorization x-api-key x-forwarded-for forwarded x-real-ip true-client-ip cf-connecting-ip
                x-client-ip content-length connection prefer].freeze
    # Stored also for a sender who opts out of tracking.
    HARMLESS = %w[host content-type dnt sec-gpc].freeze
    NO_HEADERS = {}.freeze
    private_constant :NO_HEADERS

    # @param request [#header, #remote_ip]
    # @param service [Service]
    # @return [Sender]
    def self.of(request, service)
      return new(Visitors::NOBODY, NO_HEADERS, true) if opted_out?(request)

      agent = request.header("user-agent")
      headers = agent ? { "user-agent" => agent.dup.force_encoding(Encoding::UTF_8).scrub } : NO_HEADERS
      new(service.visitor_of(request), headers, false)
    end

    # @param request [#header]
    # @return [Boolean] whether the client opts out of tracking, by `DNT: 1` or `Sec-GPC: 1`
    def self.opted_out?(request) = request.header("dnt") == "1" || request.header("sec-gpc") == "1"

    # @param visitor [Visitors::Visitor]
    # @param headers [Hash{String=>String}] the User-Agent alone: one request has many events
    # @param is_opted_out [Boolean]
    def initialize(visitor, headers, is_opted_out)
      @visitor = visitor
      @headers = headers
      @is_opted_out = is_opted_out
    end

    # @return [Sender] the same for an event with a user ID, which identifies the visitor instead of the machine
    # @param user [String, nil]
    def for_user(user)
      return self if user.nil? || @is_opted_out

      Sender.new(Visitors::Visitor.new(@visitor.ip, Visitors.of_user(user), @visitor.bot), @headers, false)
    end

    # @return [Boolean] whether the client opts out of tracking
    def opted_out? = @is_opted_out

    # @param type [String] what kind of event it is
    # @param path [String]
    # @param params [Hash{String=>Object}]
    # @return [Hash{String=>Object}] an event
    def event(type, path, params) = { **members(type, path), "params" => params }

    # @param type [String]
    # @param path [String]
    # @return [Hash{String=>Object}] an event without its params
    def members(type, path) = { **@visitor.members(type), "path" => path, "headers" => @headers }
  end
end
