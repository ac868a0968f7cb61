# frozen_string_literal: true

class VersionsController < ActionController::API
  def show
    sleep params[:seconds].to_f
    render plain: "version 1"
  end
end
