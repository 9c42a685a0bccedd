/* A host with another Rust library linked beside ours. */
#include "guest.h"

extern uint32_t other_work(uint32_t count);

int main(int argc, char **argv)
{
    mcplink_client_t *client;
    state_t before;
    (void)argv;
    if (argc > 1) return serve();
    state_take(&before);
    CHECK(other_work(12) == 14);
    client = guest_client();
    CHECK(other_work(12) == 14);
    guest_greets(client);
    mcplink_client_free(client);
    CHECK(other_work(12) == 14);
    state_same(&before);
    return 0;
}
