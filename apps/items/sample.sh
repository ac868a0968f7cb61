# Fills a store that is new; the app may run meanwhile.
./load --rows 5000 --data "$DATA"
