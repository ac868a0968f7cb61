# frozen_string_literal: true

# The class of all records, with a writing and a reading role.
class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true
  connects_to database: { writing: :primary, reading: :replica }
end
