/* Every call out of the library into the host's code goes through here.
 *
 * A host may end the thread that runs its callback: an interpreter that is leaving does so (Python up
 * to 3.13, by pthread_exit). The C library then unwinds the stack. It must not come past this border, because
 * behind it are frames that let nothing through and destructors that would call the host again: the process
 * would be aborted. These functions have no unwind tables (see CMakeLists.txt), so for the C library the
 * stack ends here, and the thread goes without a word. What the library had on that stack is lost, which a
 * process that leaves can bear. */
#ifndef HOLDFAST_CAPI_BORDER_H
#define HOLDFAST_CAPI_BORDER_H

#include "holdfast.h"

#ifdef __cplusplus
extern "C" {
#endif

void border_release(hf_release release, void* user);
void border_answered(hf_answered answered, void* user, hf_error error, const char* message, hf_reply* reply);
void border_notified(hf_notified notified, void* user, const char* method, const char* params);
void border_served(hf_served served, void* user, hf_request* request);
hf_error border_open(hf_session_open open, void* user, hf_session* inside);
int border_decide(hf_after_restart decide, void* user, const char* entry_json);
void border_fired(hf_watch_fired fired, void* user, int why);

#ifdef __cplusplus
}
#endif
#endif
