# frozen_string_literal: true

# A response that shows which version of this file is loaded.
class VersionsController < ActionController::API
  def show
    sleep params[:seconds].to_f
    render plain: "version 1"
  end
end
