curl --fail --silent --show-error --retry 5 --retry-max-time 120HEADER_OPTION 'BASE_URL/'
