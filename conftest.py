"""For the project's own tests: they run the plugin inside pytest with `pytester`."""

pytest_plugins = ["pytester"]
