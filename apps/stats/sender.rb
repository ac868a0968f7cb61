# frozen_string_literal: true

module Stats
  # Owns what is kept of a request beside the events in it: of whom it is, and its headers without those that are secret or would tell the
  # address all the same.
  class Sender
    # Are not kept of anybody.
    UNKEPT = %w[cookie authorization proxy-authorization x-api-key x-forwarded-for forwarded x-real-ip true-client-ip cf-connecting-ip
                x-client-ip content-length connection prefer].to_h { |name| [name, true] }.freeze
    # The same as {Elah::Sink#append_request} wants it.
    UNKEPT_NAMES = UNKEPT.keys.join(" ").freeze
    # Are kept of somebody who asks not to be followed.
    HARMLESS = %w[host content-type dnt sec-gpc].freeze

    # @param request [#headers, #remote_ip]
    # @param service [Service]
    # @return [Sender]
    def self.of(request, service)
      headers = request.headers
      return new(Visitors::NOBODY, headers.slice(*HARMLESS), true) if opted_out?(request)

      visitor = service.visitors.of(service.client_address.of_request(request), headers["user-agent"])
      headers.delete_if { |name, _| UNKEPT.key?(name) } if headers.size > 1
      new(visitor, headers, false)
    end

    # @param request [#header]
    # @return [Boolean] whether the client asks not to be followed, by `DNT: 1` or `Sec-GPC: 1`
    def self.opted_out?(request) = request.header("dnt") == "1" || request.header("sec-gpc") == "1"

    # What many events of one request begin with. It is made once for a visitor who sends to the same path again and again.
    #
    # @param request [#header, #headers, #path, #remote_ip]
    # @param service [Service]
    # @param type [String] of the events
    # @return [String] JSON, up to the text of the params of each
    def self.brief_head(request, service, type)
      path = request.path
      return of(request, service).brief.head(type, path) if opted_out?(request)

      visitor = service.visitors.of(service.client_address.of_request(request), request.header("user-agent"))
      visitor.brief_head(type, path) { of(request, service).brief.head(type, path) }
    end

    # Headers may have bytes that are no text. This is rare, and found when the event is written.
    #
    # @param event [Hash{String=>Object}]
    # @return [Hash{String=>Object}] the event with nothing but text in its headers
    def self.scrub(event) = event.merge("headers" => texts(event["headers"]))

    # @param headers [Hash{String=>String}]
    # @return [Hash{String=>String}] with nothing but text
    def self.texts(headers) = headers.transform_values { |value| value.dup.force_encoding(Encoding::UTF_8).scrub }

    # @param visitor [Visitors::Visitor]
    # @param headers [Hash{String=>String}]
    # @param is_opted_out [Boolean]
    def initialize(visitor, headers, is_opted_out)
      @visitor = visitor
      @headers = headers
      @is_opted_out = is_opted_out
    end

    # @return [Sender] the same with the User-Agent alone: for many events of one request
    def brief = Sender.new(@visitor, Sender.texts(@headers.slice("user-agent")), @is_opted_out)

    # @return [Sender] the same for an event that names its user, who is the visitor then, whatever was sent by which machine
    # @param user [String, nil]
    def for_user(user)
      return self if user.nil? || @is_opted_out

      Sender.new(Visitors::Visitor.new(@visitor.ip, Visitors.of_user(user), @visitor.bot), @headers, false)
    end

    # @return [Boolean] whether the client asks not to be followed
    def opted_out? = @is_opted_out

    # @param type [String] what kind of event it is
    # @param path [String]
    # @param params [Hash{String=>Object}]
    # @return [Hash{String=>Object}] an event
    def event(type, path, params)
      { "type" => type, "ip" => @visitor.ip, "visitor" => @visitor.visitor, "bot" => @visitor.bot, "path" => path,
        "headers" => @headers, "params" => params }
    end

    # @param type [String]
    # @param path [String]
    # @return [String] what an event begins with as JSON, up to the text of its params
    def head(type, path)
      text = Elah::JSON.generate(event(type, path, {}))
      text.delete_suffix("{}}")
    rescue Elah::JSON::GenerateError
      Elah::JSON.generate(Sender.scrub(event(type, path, {}))).delete_suffix("{}}")
    end
  end
end
