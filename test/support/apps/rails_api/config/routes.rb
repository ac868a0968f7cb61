# frozen_string_literal: true

# The routes of the app.
Rails.application.routes.draw do
  get "/hello" => "shop#hello"
  get "/slow" => "shop#slow"
  get "/patient" => "shop#patient"
  get "/two" => "shop#two"
  get "/whoami" => "shop#whoami"
  get "/pool" => "shop#pool"
  get "/middleware" => "shop#middleware"
  get "/version" => "versions#show"

  get "/widgets" => "widgets#count"
  get "/widgets/create" => "widgets#create"
  get "/widgets/cached" => "widgets#cached"
  get "/widgets/roles" => "widgets#roles"
  get "/widgets/later" => "widgets#later"
  get "/widgets/async" => "widgets#async"

  get "/live" => "live#events"
  get "/live/file" => "live#file"
  get "/live/running" => "shop#live"
  get "/turbo" => "shop#turbo"

  post "/files" => "files#create"
  get "/files/app" => "files#app"
  get "/broadcast" => "shop#broadcast"
  mount ActionCable.server => "/cable"
end
