# frozen_string_literal: true

# The statements that map exceptions to responses.
module Elah
  module Framework
    module DSL
      # rescue_from and default_error_status.
      module Rescuing
        # Responds to exceptions of the named classes, to every StandardError (`:all`), or to Elah's own (`:grape_exceptions`).
        #
        # @param errors [Array<Module, Symbol, Proc>] a Proc at the end is the handler
        # @param with [Proc, Symbol, String, nil] the handler, or the name of a helper
        # @param rescue_subclasses [Boolean] whether subclasses are rescued too
        # @param options [Hash{Symbol=>Boolean}] `backtrace: true` and `original_exception: true` add these to the response
        # @yieldparam error [Object] the exception
        # @yieldreceiver [Endpoint]
        # @return [void]
        # @raise [DefinitionError] when one of the errors is neither an exception class or a module nor a known word
        def rescue_from(*errors, with: nil, rescue_subclasses: true, **options, &block)
          block ||= errors.pop if errors.last.is_a?(Proc)
          raise ArgumentError, "rescue_from accepts a block or with:, not both." if block && with

          check_rescued(errors)
          handler = block || rescue_handler(with)
          if errors.include?(:all)
            _inherit(:rescue_all, true)
            _inherit(:all_rescue_handler, handler)
          elsif errors.intersect?([:grape_exceptions, :elah_exceptions])
            _inherit(:rescue_all, true)
            _inherit(:rescue_own_exceptions, true)
          else
            key = rescue_subclasses ? :rescue_handlers : :exact_rescue_handlers
            _stack(key, errors.to_h { |error| [error, handler] })
          end
          _stack(:rescue_options, options) unless options.empty?
        end

        # The default status of error!; 500 unless set.
        #
        # @param status [Integer, nil] nil returns it
        # @return [Integer, nil]
        def default_error_status(status = nil)
          status ? _inherit(:default_error_status, status) : _settings[:default_error_status]
        end

        private

        WORDS = %i[all grape_exceptions elah_exceptions].freeze
        private_constant :WORDS

        def check_rescued(errors)
          wrong = errors.find { |error| error.is_a?(Class) ? !(error <= Exception) : !error.is_a?(Module) && !WORDS.include?(error) } or return
          raise DefinitionError, "rescue_from accepts exception classes, :all, :grape_exceptions or :elah_exceptions, not #{wrong.inspect}." \
                                 "#{Options.did_you_mean(wrong, WORDS)}"
        end

        def rescue_handler(with)
          case with
          when nil, Proc then with
          when Symbol, String then with.to_sym
          else raise ArgumentError, "with: must be a Proc or the name of a helper, not #{with.inspect}."
          end
        end
      end
    end
  end
end
