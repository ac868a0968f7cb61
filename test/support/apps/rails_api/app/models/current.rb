# frozen_string_literal: true

# The attributes of the current request.
class Current < ActiveSupport::CurrentAttributes
  attribute :user
end
