# frozen_string_literal: true

# The messages about invalid parameters, and the stable code of each.
module Elah
  module Framework
    # The ends of validation sentences ("name is missing") by the name of the rule.
    module Messages
      TEXTS = {
        coerce: "is invalid",
        presence: "is missing",
        regexp: "is invalid",
        blank: "is empty",
        values: "does not have a valid value",
        except_values: "has a value not allowed",
        same_as: "is not the same as %<parameter>s",
        mutual_exclusion: "are mutually exclusive",
        at_least_one: "are missing, at least one parameter must be provided",
        exactly_one: "are missing, exactly one parameter must be provided",
        all_or_none: "provide all or none of parameters",
        length: "is expected to have length within %<min>d and %<max>d",
        length_min: "is expected to have length greater than or equal to %<min>d",
        length_max: "is expected to have length less than or equal to %<max>d",
        length_is: "is expected to have length exactly equal to %<is>d"
      }.freeze

      CODES = {
        coerce: "invalid_type", presence: "missing", regexp: "invalid_format", blank: "empty",
        values: "value_not_allowed", except_values: "value_not_allowed", same_as: "not_the_same",
        mutual_exclusion: "mutually_exclusive", at_least_one: "at_least_one_required",
        exactly_one: "exactly_one_required", all_or_none: "all_or_none_required", length: "invalid_length",
        length_min: "invalid_length", length_max: "invalid_length", length_is: "invalid_length"
      }.freeze

      # @param message [String, Symbol, Proc]
      # @param values [Hash] values for the message's placeholders
      # @return [String]
      def self.text(message, **values)
        case message
        when Symbol then Kernel.format(TEXTS.fetch(message) { message.name.tr("_", " ") }, **values)
        when Proc then message.call
        else message.to_s
        end
      end

      # @return [String] the stable code of a rule; "invalid" for a rule of the app's own
      def self.code(rule) = CODES.fetch(rule, "invalid")
    end
  end
end
